//! A claim asks memory which lane is next, and has room reserved there.

use crate::claims::seen;
use crate::pg::error::{Failure, Result, too_long};
use crate::pg::seeded::{Seeded, armed};
use crate::pg::server;
use crate::pg::spi::Spi;
use crate::runs::claimer::Claimer;
use crate::sync::overflow::OverflowSearch;
use crate::sync::rebuild::when_ready;
use crate::transaction::level::Reserved;
use crate::transaction::pending;
use pgrx::pg_sys;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use turnstile_scheduler::{GateKind, Pick, ReservationId};

/// The most jobs that an open transaction may have claimed: each takes memory that no limit holds back.
const HELD_AT_MOST: usize = 10_000;
/// The most jobs that one pick reserves.
pub(super) const MOST_AT_ONCE: usize = 1_000;

/// What a claim is to look at next.
pub(super) struct Next {
    pub pick: Pick,
    pub reservations: Vec<ReservationId>,
    /// A process sleeps that would be woken for what is left of the lane.
    pub is_waited_for: bool,
    /// A client may listen for work in the queue.
    pub has_listeners: bool,
}

impl Next {
    fn of(pick: Pick) -> Self {
        Self {
            pick,
            reservations: Vec::new(),
            is_waited_for: false,
            has_listeners: false,
        }
    }
}

/// Reserves room in the next lane of a queue, for a claim or for who only looks. What was reserved is on record even if the
/// step fails.
pub(super) fn pick(
    spi: &Spi,
    job_table: pg_sys::Oid,
    search: &mut OverflowSearch,
    want: usize,
    claimer: Option<&Claimer>,
) -> Result<Next> {
    let mut reservations = vec![ReservationId::default(); want.min(MOST_AT_ONCE)];
    let mut credits = pending::with(|pending| pending.credits());
    let held = pending::with(|pending| pending.reservations());
    let mut transferred = Vec::new();
    let next = catch_unwind(AssertUnwindSafe(|| {
        when_ready(spi, job_table, |memory| {
            let now = server::now();
            search.offer(memory, now, &credits)?;
            memory.make_room(want);
            let left = HELD_AT_MOST.saturating_sub(held);
            if want > 0 && left == 0 {
                return Ok(Next::of(Pick::Exhausted));
            }
            reservations.truncate(left);
            let pick =
                memory
                    .scheduler
                    .pick(search.queue(), now, &mut credits, &mut reservations)?;
            if pick == Pick::Nothing {
                search.go_on(memory, &credits)?;
                if let Some(claimer) = claimer
                    && !armed(Seeded::OverlookIdleWorkers)
                {
                    seen::note(memory, claimer, search.queue(), 0, now);
                }
            }
            for &id in reservations.iter().filter(|id| id.is_some()) {
                transferred.push(memory.scheduler.transferred(id)?.collect());
            }
            let mut next = Next::of(pick);
            if let Pick::Lane(picked) = &next.pick {
                next.is_waited_for = memory.waiting.is_waited_for(picked.spec.queue);
            }
            next.has_listeners = memory.channels.note_claim(search.queue());
            Ok(next)
        })
    }));
    reservations.retain(ReservationId::is_some);
    record(job_table, &reservations, transferred);
    match next {
        Ok(next) => Ok(Next {
            reservations,
            ..next?
        }),
        Err(panic) => resume_unwind(panic),
    }
}

/// Puts reservations on record, so that the end of the transaction finds them.
fn record(
    job_table: pg_sys::Oid,
    reservations: &[ReservationId],
    transferred: Vec<Vec<(GateKind, u64)>>,
) {
    if reservations.is_empty() {
        return;
    }
    let transferred = transferred.into_iter().chain(std::iter::repeat(Vec::new()));
    pending::note(job_table, |level| {
        let reserved = reservations.iter().zip(transferred);
        level
            .reservations
            .extend(reserved.map(|(&id, transferred)| Reserved {
                id,
                transferred,
                is_turn: false,
            }));
    });
}

pub(super) fn too_many_reservations() -> Failure {
    too_long("the transaction has claimed more jobs than can be tracked")
        .detail(format!(
            "An open transaction may have claimed {HELD_AT_MOST} jobs."
        ))
        .hint("Commit after claiming.")
}
