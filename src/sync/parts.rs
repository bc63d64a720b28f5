//! What a transaction has changed, some lanes and leases at a time: all queues wait for the lock meanwhile.
//!
//! Who comes between two parts finds what is told already, as if the rest were committed a moment later. The best lanes come first, so that a
//! claim passes over nothing that is there already.

use crate::pg::seeded::{Seeded, armed};
use crate::shmem::{self, Locked, Phase};
use crate::transaction::leases::LeasesPart;
use crate::transaction::level::{LaneChange, Level};
use pgrx::pg_sys;
use turnstile_scheduler::{ReservationId, Step};

/// Lanes, or leases, that are told while the lock is held.
const AT_ONCE: usize = 250;

/// What is done with the parts. If one is cut short, the memory will be rebuilt.
pub struct Steps<L, R> {
    pub lanes: L,
    pub leases: R,
}

/// Lanes that are told together with all else, and those that are told later.
pub struct First<'l, 'c> {
    pub lanes: &'l [&'c LaneChange],
    pub others: &'l [&'c LaneChange],
}

/// The first step is for all else that has changed, and the first lanes. Reservations that were not reached must not outlive their owner,
/// so they are dropped under the same lock.
pub fn tell<L, R>(
    table: pg_sys::Oid,
    changes: &Level,
    first: impl FnOnce(&mut Locked, &First) -> Step<()>,
    steps: &Steps<L, R>,
) where
    L: Fn(&mut Locked, &[&LaneChange]) -> Step<()>,
    R: Fn(&mut Locked, LeasesPart) -> Step<()>,
{
    let all = in_order(changes);
    let lanes = all.as_deref().unwrap_or_default();
    let (lanes, others) = lanes.split_at_checked(AT_ONCE).unwrap_or((lanes, &[]));
    let mut leases = changes.leases.parts(AT_ONCE).peekable();
    let first_leases = leases.next();
    let goes_on = !others.is_empty() || leases.peek().is_some();
    let _ = shmem::with_existing(table, |memory| {
        memory.end_reservations(ids(changes), |memory| {
            if all.is_none() {
                memory.state.phase = Phase::Stale;
                memory.figures.distrust();
            }
            memory.state.half_told += u32::from(goes_on);
            first(memory, &First { lanes, others })?;
            match first_leases {
                Some(part) => unless_stale(memory, |memory| (steps.leases)(memory, part)),
                None => Ok(()),
            }
        })
    });
    if goes_on {
        each(table, others.chunks(AT_ONCE), &steps.lanes);
        each(table, leases, |memory, part| {
            unless_stale(memory, |memory| (steps.leases)(memory, part))
        });
        let _ = shmem::with_existing(table, |memory| {
            memory.state.half_told = memory.state.half_told.saturating_sub(1);
            Ok(())
        });
    }
}

fn each<P>(
    table: pg_sys::Oid,
    parts: impl Iterator<Item = P>,
    step: impl Fn(&mut Locked, P) -> Step<()>,
) {
    for part in parts.filter(|_| !armed(Seeded::TellOnePart)) {
        let told = shmem::with_existing(table, |memory| {
            memory.end_reservations(std::iter::empty(), |memory| step(memory, part))
        });
        if !matches!(told, Ok(Some(()))) {
            return;
        }
    }
}

/// A rebuild will read the rest.
pub fn unless_stale(memory: &mut Locked, step: impl FnOnce(&mut Locked) -> Step<()>) -> Step<()> {
    match memory.state.phase {
        Phase::Stale => Ok(()),
        Phase::Rebuilding | Phase::Ready => step(memory),
    }
}

/// None where there is no memory for it.
fn in_order(changes: &Level) -> Option<Vec<&LaneChange>> {
    let mut lanes = Vec::new();
    lanes.try_reserve_exact(changes.lanes.len()).ok()?;
    lanes.extend(changes.lanes.values().map(Box::as_ref));
    if lanes.len() > AT_ONCE {
        lanes.sort_unstable_by_key(|lane| {
            let first = [lane.least_available(), lane.least_gone];
            (lane.spec.priority, first.into_iter().flatten().min())
        });
    }
    Some(lanes)
}

pub fn ids(changes: &Level) -> impl Iterator<Item = ReservationId> {
    changes.reservations.iter().map(|reserved| reserved.id)
}
