//! Past a lane in which a claim would find nothing to take.

use crate::claims::pick::pick;
use crate::claims::search::{is_anything_left, settle};
use crate::pg::error::Result;
use crate::pg::spi::Spi;
use crate::runs::look_ahead::look_ahead;
use crate::runs::run::AHEAD;
use crate::sync::overflow::OverflowSearch;
use crate::transaction::pending;
use pgrx::pg_sys;
use turnstile_scheduler::{Outcome, Pick, Picked};

/// For who looks without claiming: what a claim does with a lane in which it finds nothing to take. Of jobs that are gone
/// memory learns; past those that are held, another lane is next until the end of the call.
pub fn pass_over(spi: &Spi, job_table: pg_sys::Oid, picked: &Picked, is_held: bool) -> Result<()> {
    if !is_held {
        return is_anything_left(spi, job_table, picked).map(drop);
    }
    let mut search = OverflowSearch::in_queue(picked.spec.queue);
    let next = pick(spi, job_table, &mut search, 1, None)?;
    let Pick::Lane(picked) = next.pick else {
        return Ok(());
    };
    let own = pending::with(|pending| pending.own_positions(picked.spec.lane));
    let (seen, seen_all) = look_ahead(spi, &picked, &own, AHEAD)?;
    let outcome = Outcome {
        taken: &[],
        seen: &seen,
        seen_all,
    };
    settle(job_table, &picked, &next.reservations, outcome, 0, None)
}
