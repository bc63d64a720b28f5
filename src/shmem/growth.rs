//! What the memory of a database grows with, and what is charged for it.

#![allow(unsafe_code, reason = "points into shared memory")]

use super::directory::{Anchor, Entry};
use super::layout::Layout;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::settings;
use pgrx::pg_sys;
use std::ops::Range;
use std::sync::atomic::Ordering;

/// A database may have this many times what is left for all: so a small one beside a large one finds room to grow.
const SHARE: u64 = 8;
/// Whether a database may have so many bytes, where all have so many together.
fn is_within_limit(own: u64, all: u64) -> bool {
    let left = settings::max_memory().saturating_sub(all);
    own <= left.saturating_mul(SHARE)
}

/// What the memory of a database grows with.
pub struct Growth {
    pub(super) anchor: &'static Anchor,
    pub(super) entry: &'static Entry,
    pub(super) layout: &'static Layout,
    pub(super) window: u64,
    pub(super) start: *mut u8,
}

impl Growth {
    /// Puts more bytes on the account of the database; false if they are too many.
    pub(super) fn charge(&self, bytes: u64, is_vital: bool) -> bool {
        let all = self.anchor.bytes.fetch_add(bytes, Ordering::AcqRel);
        let own = self.entry.bytes.fetch_add(bytes, Ordering::AcqRel);
        let fits = is_within_limit(own.saturating_add(bytes), all.saturating_add(bytes));
        let is_admitted = fits || is_vital || armed(Seeded::GrowPastLimit);
        if !is_admitted {
            self.discharge(bytes);
        }
        is_admitted
    }

    pub(super) fn is_within_limit(&self) -> bool {
        let [own, all] = [&self.entry.bytes, &self.anchor.bytes];
        is_within_limit(own.load(Ordering::Acquire), all.load(Ordering::Acquire))
    }

    /// The table of jobs is gone.
    pub(super) fn disown(&self) {
        let (database, _) = self.entry.owner();
        self.entry.set_owner(database, pg_sys::InvalidOid);
    }

    pub(super) fn discharge(&self, bytes: u64) {
        self.anchor.bytes.fetch_sub(bytes, Ordering::AcqRel);
        self.entry.bytes.fetch_sub(bytes, Ordering::AcqRel);
    }

    pub(super) fn back(&self, part: &Range<u64>) -> bool {
        part.is_empty()
            || !armed(Seeded::RefuseMemory) && self.anchor.shape.back(self.window, part).is_ok()
    }
}
