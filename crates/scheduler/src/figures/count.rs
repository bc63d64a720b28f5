//! How far the tables are counted, what the count has seen, and what it had no room for.

use super::kinds::{KINDS, index_of};
use crate::memory::gate::GateKind;
use crate::testing::faults::{Seeded, armed};

/// How far the numbers of jobs can be trusted.
#[repr(u8)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// They must be counted before use.
    #[default]
    None,
    /// A backend counts; commits are applied.
    Counting,
    Counted,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count {
    pub(super) trust: Trust,
    /// The numbers were wanted where nobody could count.
    pub(super) is_wanted: bool,
    /// By kind: some names did not fit, and are not known.
    pub(super) overflows: [bool; KINDS.len() + 1],
    /// Something that is shown of a name did not fit.
    pub(super) lacks_details: bool,
    pub(super) generation: u64,
    /// Transactions from here on, and the listed ones, were not visible to the count.
    pub(super) xmax: u64,
    pub(super) running: u32,
}

impl Count {
    /// Whether a commit must be added to the numbers.
    pub(super) fn takes_changes_of(&self, id: u64, running: &[u32]) -> bool {
        let mut running = running.iter().take(self.running as usize);
        let ran = !armed(Seeded::ForgetWhoRan) && running.any(|&other| other == id as u32);
        let is_seen = id != 0 && id < self.xmax && !ran && !armed(Seeded::AddWhatWasCounted);
        match self.trust {
            Trust::None => false,
            Trust::Counting => !is_seen && !armed(Seeded::MissDuringCount),
            Trust::Counted => !is_seen,
        }
    }

    pub(super) fn note_overflow(&mut self, kind: GateKind) {
        let nth = index_of(kind);
        if let Some(overflows) = self.overflows.get_mut(nth) {
            *overflows = true;
        }
    }

    pub(super) fn note_lack_of_details(&mut self) {
        self.lacks_details = true;
    }

    pub(super) fn after_loss(self) -> Self {
        Self {
            generation: self.generation + 1,
            ..Self::default()
        }
    }
}
