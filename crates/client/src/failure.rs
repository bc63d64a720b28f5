//! Why a run has failed.

use std::fmt::Display;

/// Why a run has failed: a text, and perhaps a class that retry curves go by (`turnstile.retry_curve`).
///
/// Whatever can be printed becomes one, without a class. A handler that returns `Result<_, Failure>` uses `?` as ever, and names a class
/// where it knows one:
///
/// ```
/// use turnstile_client::{Failure, Run};
///
/// async fn call(run: Run) -> Result<(), Failure> {
///     let number: String = run.job.payload()?;
///     match number.as_str() {
///         "911" => Err(Failure::new("line busy").class("carrier busy")),
///         _ => Ok(()),
///     }
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failure {
    /// Kept with the job.
    pub error: String,
    /// A word for the sort of the error, of which 255 bytes are sent.
    pub class: Option<String>,
}

impl Failure {
    /// Without a class.
    pub fn new(error: impl Into<String>) -> Self {
        Self {
            error: error.into(),
            class: None,
        }
    }

    /// Names the class.
    pub fn class(mut self, class: impl Into<String>) -> Self {
        self.class = Some(class.into());
        self
    }
}

// With the causes that some errors print only so. Failure itself cannot be printed, or this would be its own second `From`.
impl<E: Display> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::new(format!("{error:#}"))
    }
}
