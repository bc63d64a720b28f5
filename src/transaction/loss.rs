//! Whether a crash of the server may take the transaction back. Then nobody has to wait until its commit is on disk.
//!
//! That is so where it has done nothing but claims that may be lost: it had no id before, as the server gives one for all
//! that is to be waited for, and it has logged nothing since.

use crate::pg::log_position::last_record;
use crate::pg::seeded::{Seeded, armed};
use crate::transaction::{has_id, pending};

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
}

/// Runs a claim, of which only what [`refuse`] says must not be lost.
pub fn of_claim<R>(claim: impl FnOnce() -> R) -> R {
    let is_in_use = has_id() && !armed(Seeded::LoseWhatPrecedes);
    pending::with(|pending| {
        let loss = &mut pending.loss;
        loss.is_refused |= is_in_use && last_record() != loss.claimed_to;
    });
    let result = claim();
    pending::with(|pending| {
        // It has changed other jobs as well.
        pending.loss.is_refused |= pending.must_not_sleep;
        pending.loss.claimed_to = last_record();
    });
    result
}

/// The claim under way has done what is not to be lost.
pub fn refuse() {
    pending::with(|pending| pending.loss.is_refused = true);
}
