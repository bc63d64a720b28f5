//! What a worker does with a run: one function for all jobs, or one for each kind.

use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::run::Run;
use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use std::collections::HashMap;

/// Does the work. Any `async` function of a [`Run`] is one, if what it returns becomes an [`Outcome`].
pub trait Handler: Send + Sync + 'static {
    /// Does the work of one run. The future is dropped if it goes on for too long after the run was told to stop.
    fn handle(&self, run: Run) -> impl Future<Output = Outcome> + Send;
}

impl<F, R> Handler for F
where
    F: Fn(Run) -> R + Send + Sync + 'static,
    R: Future + Send,
    R::Output: Into<Outcome>,
{
    async fn handle(&self, run: Run) -> Outcome {
        self(run).await.into()
    }
}

type Boxed = Box<dyn Fn(Run) -> BoxFuture<'static, Outcome> + Send + Sync>;

/// A function for each kind of job.
///
/// ```
/// use turnstile_client::{Kinds, Run};
///
/// #[derive(serde::Deserialize)]
/// struct Mail {
///     to: String,
/// }
///
/// async fn send(mail: Mail, _run: Run) -> Result<(), std::io::Error> {
///     println!("to {}", mail.to);
///     Ok(())
/// }
///
/// let kinds = Kinds::new().on("mail", send);
/// ```
#[derive(Default)]
pub struct Kinds {
    by_kind: HashMap<String, Boxed>,
}

impl Kinds {
    /// None yet. A job of a kind that has no function fails.
    pub fn new() -> Self {
        Self::default()
    }

    /// The function for a kind, with the payload as its own type. A payload of another type fails the run.
    pub fn on<P, F, R>(mut self, kind: impl Into<String>, function: F) -> Self
    where
        P: DeserializeOwned + 'static,
        F: Fn(P, Run) -> R + Send + Sync + 'static,
        R: Future + Send + 'static,
        R::Output: Into<Outcome>,
    {
        let boxed = move |run: Run| -> BoxFuture<'static, Outcome> {
            match run.job.payload::<P>() {
                Ok(payload) => {
                    let ended = function(payload, run);
                    Box::pin(async move { ended.await.into() })
                }
                Err(error) => {
                    let failure =
                        Failure::new(format!("the payload is not as its kind has it: {error}"));
                    Box::pin(async move { Outcome::Fail(failure) })
                }
            }
        };
        self.by_kind.insert(kind.into(), Box::new(boxed));
        self
    }
}

impl Handler for Kinds {
    async fn handle(&self, run: Run) -> Outcome {
        match self.by_kind.get(&run.job.kind) {
            Some(function) => function(run).await,
            None => Outcome::Fail(Failure::new(format!(
                "no handler for the kind {}",
                run.job.kind
            ))),
        }
    }
}
