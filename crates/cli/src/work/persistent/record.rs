//! What a child leaves to be known of it: its slot reads what the talk with it writes.

use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Default)]
pub struct Record {
    has_answered: AtomicBool,
    has_failed: AtomicBool,
}

impl Record {
    pub fn answered(&self) {
        self.has_answered.store(true, Ordering::Relaxed);
    }

    pub fn failed(&self) {
        self.has_failed.store(true, Ordering::Relaxed);
    }

    pub fn has_answered(&self) -> bool {
        self.has_answered.load(Ordering::Relaxed)
    }

    pub fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }
}
