//! What memory and the tables do not agree on.

/// A difference, as `turnstile.check()` reports it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Difference {
    pub problem: &'static str,
    pub detail: String,
}
