//! Bounds of backlogs. A job is charged when a transaction adds it, and no bound lets what waits and what is charged exceed it
//! together; what is charged is part of what waits once the transaction has committed. What a transaction takes away counts
//! from its commit on. So no enqueue takes the committed jobs past a bound, and an abort only gives its charges back.

use super::locked::Locked;
use crate::pg::seeded::{Seeded, armed};
use turnstile_scheduler::figures::{Demand, Id, Trust};
use turnstile_scheduler::{GateKind, Step};

/// What has a bound.
pub const BOUNDED_KINDS: [GateKind; 2] = [GateKind::Queue, GateKind::Tenant];

/// A bound, and the name that it applies to.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    pub name: Id,
    pub most: u32,
}

/// The decision about a job that is to be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It has its places. For each bound: whether it is charged, and how many jobs there are now, if that is known.
    Admitted {
        charged: [bool; 2],
        waiting: [Option<i64>; 2],
    },
    /// The name of this bound already has this many jobs.
    Full { bound: usize, waiting: i64 },
    /// The jobs must be counted first.
    Uncounted,
    /// Another backend counts them.
    BeingCounted,
}

/// What a producer can do where the jobs are not counted. Where it can do nothing it is admitted.
#[derive(Clone, Copy, Debug)]
pub struct Means {
    pub count: bool,
    pub wait: bool,
}

impl Locked<'_> {
    /// Takes a place behind each bound, or none.
    pub fn admit(&mut self, bounds: &[Bound], means: Means) -> Step<Admission> {
        let mut waiting = [None; 2];
        for (nth, bound) in bounds.iter().enumerate() {
            let trust = self.figures.trust();
            // A count that is under way has found at most so many.
            let jobs = match trust {
                Trust::Counted | Trust::Counting => {
                    let with_charged = !armed(Seeded::ChargeAtCommit);
                    self.figures.waiting(bound.name, with_charged)?
                }
                Trust::None => None,
            };
            match (trust, jobs) {
                (_, Some(jobs)) if jobs >= i64::from(bound.most) => {
                    return Ok(Admission::Full {
                        bound: nth,
                        waiting: jobs,
                    });
                }
                (Trust::Counted, Some(jobs)) => {
                    if let Some(place) = waiting.get_mut(nth) {
                        *place = Some(jobs + 1);
                    }
                }
                // The name has found no room in memory.
                (Trust::Counted, None) => {}
                (Trust::Counting, _) if means.wait => return Ok(Admission::BeingCounted),
                (Trust::Counting, _) => {}
                (Trust::None, _) if means.count => return Ok(Admission::Uncounted),
                (Trust::None, _) => self.figures.want_count(),
            }
        }
        let mut charged = [false; 2];
        for (bound, charged) in bounds.iter().zip(&mut charged) {
            self.make_room_for_figures(&Demand::NAME);
            *charged = self.figures.charge(bound.name)?;
        }
        Ok(Admission::Admitted { charged, waiting })
    }
}
