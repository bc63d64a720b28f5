//! Whether a crash of the server may take the transaction back. Then nobody has to wait until its commit is on disk.
//!
//! That is so where it has done nothing but claims that may be lost: it had no id before, as the server gives one for all
//! that is to be waited for, and it has logged nothing since.

use crate::pg::log_position::last_record;
use crate::pg::seeded::{Seeded, armed};

#[derive(Default)]
pub struct Loss {
    /// Something is not to be lost.
    is_refused: bool,
    /// The end of the last record that a claim has left in the log; 0: none yet.
    claimed_to: u64,
}

impl Loss {
    pub fn is_allowed(&self) -> bool {
        let has_claimed = self.claimed_to != 0 && !self.is_refused;
        has_claimed && (last_record() == self.claimed_to || armed(Seeded::LoseWhatFollows))
    }

    pub fn refuse(&mut self) {
        self.is_refused = true;
    }

    /// A claim begins, in a transaction that may have locked or changed rows.
    pub fn begin_claim(&mut self, has_id: bool) {
        let is_in_use = has_id && !armed(Seeded::LoseWhatPrecedes);
        self.is_refused |= is_in_use && last_record() != self.claimed_to;
    }

    pub fn end_claim(&mut self) {
        self.claimed_to = last_record();
    }
}
