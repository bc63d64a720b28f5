//! A claim as part of its transaction: a crash may take it back unless it, or anything else, says otherwise.

use crate::transaction::{has_id, pending};

/// Runs a claim, of which only what [`refuse_loss`] says must not be lost.
pub fn losable<R>(claim: impl FnOnce() -> R) -> R {
    let has_id = has_id();
    pending::with(|pending| pending.loss.begin_claim(has_id));
    let result = claim();
    pending::with(|pending| {
        if pending.must_not_sleep {
            // It has changed other jobs as well.
            pending.loss.refuse();
        }
        pending.loss.end_claim();
    });
    result
}

/// The claim under way has done what is not to be lost.
pub fn refuse_loss() {
    pending::with(|pending| pending.loss.refuse());
}
