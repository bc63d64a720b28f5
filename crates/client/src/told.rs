//! What the log has already: each reason is told once for as long as it stays the same.

use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Default)]
pub(crate) struct Told(Mutex<Option<String>>);

impl Told {
    /// Whether it is another reason than the last one, which it is from now on.
    pub(crate) fn is_news(&self, reason: &str) -> bool {
        let mut last = self.lock();
        let is_news = last.as_deref() != Some(reason);
        if is_news {
            *last = Some(reason.to_owned());
        }
        is_news
    }

    /// It is over.
    pub(crate) fn forget(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> MutexGuard<'_, Option<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_news_until_it_is_told_and_again_when_it_was_over() {
        let told = Told::default();
        assert!(told.is_news("a"));
        assert!(!told.is_news("a"));
        assert!(told.is_news("b"));
        assert!(told.is_news("a"));
        told.forget();
        assert!(told.is_news("a"));
    }
}
