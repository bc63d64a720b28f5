//! What this backend's open transaction has changed and the scheduler does not know yet, by savepoint level.

#![allow(unsafe_code, reason = "asks the server for the savepoint level")]

use crate::pg::seeded::{Seeded, armed};
use crate::shmem::{Gone, Search};
use pgrx::pg_sys;
use std::cell::RefCell;
use std::collections::HashMap;
use turnstile_scheduler::{Credit, GateKind, LaneSpec, ReservationId};

/// Changes to the jobs of one lane.
#[derive(Default, PartialEq)]
pub struct LaneChange {
    pub spec: LaneSpec,
    /// Positions that became available.
    pub available: Vec<i64>,
    /// The least position that became available because its time had come; claims of the same
    /// transaction may take it.
    pub least_promoted: Option<i64>,
    /// How many became available because their time had come.
    pub promoted: u32,
    /// The least position that ceased to be available; an abort brings it back.
    pub least_gone: Option<i64>,
    /// Jobs that became running other than by a claim.
    pub started: u32,
    /// Jobs that ceased to run.
    pub released: u32,
}

/// Room that a claim has reserved for a job.
#[derive(PartialEq)]
pub struct Reserved {
    pub id: ReservationId,
    /// Gates at which it took over room that this transaction gives back.
    pub transferred: Vec<(GateKind, u64)>,
}

/// Changes made at one nesting level of savepoints.
#[derive(Default, PartialEq)]
pub struct Level {
    nesting: i32,
    pub lanes: HashMap<u64, LaneChange>,
    pub reservations: Vec<Reserved>,
    /// Lanes that a claim hides while it runs, because a stranger has locked their next job.
    pub hidden: Vec<(LaneSpec, i64)>,
    /// Jobs that this transaction keeps from being claimed before it ends, without changing them.
    pub kept_waiting: Vec<(LaneSpec, i64)>,
    pub settings: Vec<(GateKind, u64)>,
    /// Kinds of gates whose default row changed.
    pub defaults: Vec<GateKind>,
    /// Rows of `turnstile.route` changed.
    pub routes: bool,
    /// The earliest time for which a job was put off.
    pub next_due: Option<i64>,
    /// The earliest time of jobs that were put off before, or at which a promotion began; an abort brings it back.
    pub due_taken: Option<i64>,
    /// The earliest time at which the lease of a run ends.
    pub next_lease: Option<i64>,
    /// The same of runs that ended or whose lease was changed; an abort brings it back.
    pub lease_gone: Option<i64>,
    /// Backends that were taken from memory, to rescue the runs bound to them; an abort brings them back.
    pub gone: Gone,
    /// The tables changed in a way that rows do not tell: `TRUNCATE`.
    pub rebuild: bool,
    /// `turnstile.job` is no more.
    pub is_dropped: bool,
}

impl LaneChange {
    /// Jobs that became available.
    pub fn available_count(&self) -> u32 {
        let count = u32::try_from(self.available.len()).unwrap_or(u32::MAX);
        count.saturating_add(self.promoted)
    }

    /// Where the lane's head has to be lowered to when the transaction commits.
    pub fn least_available(&self) -> Option<i64> {
        least(self.available.iter().copied().min(), self.least_promoted)
    }

    fn absorb(&mut self, inner: Self) {
        let Self {
            spec: _,
            available,
            least_promoted,
            promoted,
            least_gone,
            started,
            released,
        } = inner;
        self.available.extend(available);
        self.least_promoted = least(self.least_promoted, least_promoted);
        self.promoted += promoted;
        self.least_gone = least(self.least_gone, least_gone);
        self.started += started;
        self.released += released;
    }
}

impl Level {
    fn is_empty(&self) -> bool {
        let nothing = || Self {
            nesting: self.nesting,
            ..Self::default()
        };
        self.lanes.is_empty() && *self == nothing()
    }

    pub fn lane(&mut self, spec: LaneSpec) -> &mut LaneChange {
        self.lanes.entry(spec.lane).or_insert_with(|| LaneChange {
            spec,
            ..LaneChange::default()
        })
    }

    /// Whether what the cache of routes keeps is no longer what the tables say.
    pub fn changes_routes(&self) -> bool {
        self.routes
            || self.defaults.contains(&GateKind::Queue)
            || self
                .settings
                .iter()
                .any(|&(kind, _)| kind == GateKind::Queue)
    }

    pub fn put_off_until(&mut self, time: i64) {
        self.next_due = least(self.next_due, Some(time));
    }

    pub fn note_lease(&mut self, time: Option<i64>) {
        self.next_lease = least(self.next_lease, time);
    }

    pub fn note_lease_gone(&mut self, time: Option<i64>) {
        self.lease_gone = least(self.lease_gone, time);
    }

    /// Every field is named, so that a new one is not forgotten.
    fn absorb(&mut self, inner: Level) {
        let Level {
            nesting: _,
            lanes,
            reservations,
            hidden,
            kept_waiting,
            settings,
            defaults,
            routes,
            next_due,
            due_taken,
            next_lease,
            lease_gone,
            gone,
            rebuild,
            is_dropped,
        } = inner;
        for (_, change) in lanes {
            self.lane(change.spec).absorb(change);
        }
        self.reservations.extend(reservations);
        self.hidden.extend(hidden);
        self.kept_waiting.extend(kept_waiting);
        self.settings.extend(settings);
        self.defaults.extend(defaults);
        self.routes |= routes;
        self.next_due = least(self.next_due, next_due);
        self.due_taken = least(self.due_taken, due_taken);
        self.next_lease = least(self.next_lease, next_lease);
        self.lease_gone = least(self.lease_gone, lease_gone);
        self.gone.absorb(gone);
        self.rebuild |= rebuild;
        self.is_dropped |= is_dropped;
    }
}

pub fn least(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    a.into_iter().chain(b).min()
}

/// What this backend is in the middle of. A trigger of a user may run the next within it, and what an EXCEPTION block
/// undoes is only what was begun inside of that.
pub enum Work {
    /// A claim sets these runs (id, attempt) running, for which room is reserved; each until the trigger has met it.
    Claim(Vec<(i64, i32)>),
    /// A promotion makes jobs available: these so far.
    Promotion(Vec<(LaneSpec, i64)>),
    Rebuild,
    /// A search for expired leases has taken this from memory.
    Search(Search),
    /// A claim that may sleep before it ends.
    Stay,
}

/// Everything that the open transaction has changed.
#[derive(Default)]
pub struct Pending {
    pub job_table: pg_sys::Oid,
    levels: Vec<Level>,
    /// With the nesting level at which each began, the innermost last.
    works: Vec<(i32, Work)>,
}

thread_local! {
    static PENDING: RefCell<Pending> = RefCell::default();
}

/// Runs `change` on the pending changes. It must not call into the server.
pub fn with<R>(change: impl FnOnce(&mut Pending) -> R) -> R {
    PENDING.with(|pending| change(&mut pending.borrow_mut()))
}

/// As [`with`], at the current savepoint level.
pub fn at_current_level<R>(change: impl FnOnce(&mut Level) -> R) -> R {
    with(|pending| change(pending.level(nesting())))
}

fn nesting() -> i32 {
    // SAFETY: reads the backend's transaction state.
    unsafe { pg_sys::GetCurrentTransactionNestLevel() }
}

/// Says what is begun. It ends by [`end`], or with the savepoint or transaction in which it began.
pub fn begin(work: Work) {
    with(|pending| pending.works.push((nesting(), work)));
}

/// Ends what was begun last.
pub fn end() -> Option<Work> {
    with(|pending| pending.works.pop().map(|(_, work)| work))
}

/// Whether this backend is in the middle of a claim that may sleep.
pub fn stays() -> bool {
    with(|pending| {
        pending
            .works
            .iter()
            .any(|(_, work)| matches!(work, Work::Stay))
    })
}

/// A lower bound of the leases needs to hear of a shorter one, and of the old one if this is undone.
pub fn note_lease_change(old: Option<i64>, new: Option<i64>) {
    if old != new {
        at_current_level(|level| {
            level.note_lease_gone(old);
            level.note_lease(new);
        });
    }
}

impl Pending {
    fn level(&mut self, nesting: i32) -> &mut Level {
        let is_open = self
            .levels
            .last()
            .is_some_and(|level| level.nesting >= nesting);
        if !is_open {
            self.levels.push(Level {
                nesting,
                ..Level::default()
            });
        }
        let last = self.levels.len() - 1;
        // The vector was just made non-empty.
        #[allow(clippy::indexing_slicing)]
        &mut self.levels[last]
    }

    pub fn is_empty(&self) -> bool {
        self.levels.iter().all(Level::is_empty)
    }

    pub fn changes_routes(&self) -> bool {
        self.levels.iter().any(Level::changes_routes)
    }

    /// The savepoint level was released: its changes are its parent's.
    pub fn release_level(&mut self, nesting: i32) {
        while let Some(inner) = self.take_from(nesting) {
            if armed(Seeded::LoseReleasedLevel) {
                continue;
            }
            self.level(nesting - 1).absorb(inner);
        }
    }

    /// Takes the innermost level if it is at `nesting` or deeper.
    pub fn take_from(&mut self, nesting: i32) -> Option<Level> {
        self.levels.pop_if(|level| level.nesting >= nesting)
    }

    /// Ends the transaction: all changes as one.
    pub fn take_all(&mut self) -> Level {
        let mut levels = std::mem::take(&mut self.levels).into_iter();
        let mut all = levels.next().unwrap_or_default();
        for level in levels {
            all.absorb(level);
        }
        all
    }

    /// What was begun at this nesting level or deeper, and was cut short.
    pub fn abandon(&mut self, nesting: i32) -> Vec<Work> {
        let is_outer =
            |(begun, _): &&(i32, Work)| *begun < nesting && !armed(Seeded::AbandonOuterWork);
        let kept = self.works.iter().take_while(is_outer).count();
        self.works.drain(kept..).map(|(_, work)| work).collect()
    }

    /// Says which jobs the innermost claim is about to set running.
    pub fn expect_runs(&mut self, runs: impl IntoIterator<Item = (i64, i32)>) {
        if let Some((_, Work::Claim(expected))) = self.works.last_mut() {
            expected.extend(runs);
        }
    }

    /// Whether a run is one that a claim of this backend has started, which the trigger meets once.
    pub fn meets_run(&mut self, id: i64, attempt: i32) -> bool {
        self.works.iter_mut().rev().any(|(_, work)| match work {
            Work::Claim(runs) => {
                let found = runs.iter().position(|&run| run == (id, attempt));
                found.map(|place| runs.swap_remove(place)).is_some()
            }
            _ => false,
        })
    }

    /// The jobs that the promotion under way has made available.
    pub fn promotion(&mut self) -> Option<&mut Vec<(LaneSpec, i64)>> {
        self.works
            .iter_mut()
            .rev()
            .find_map(|(_, work)| match work {
                Work::Promotion(jobs) => Some(jobs),
                _ => None,
            })
    }

    /// Room that this transaction gives back when it commits and has not used again itself.
    pub fn credits(&self) -> Vec<Credit> {
        let mut balance: HashMap<(GateKind, u64), i64> = HashMap::new();
        for lane in self.levels.iter().flat_map(|level| level.lanes.values()) {
            for gate in lane.spec.gates() {
                *balance.entry(gate).or_default() +=
                    i64::from(lane.released) - i64::from(lane.started);
            }
        }
        let reserved = self.levels.iter().flat_map(|level| &level.reservations);
        for &gate in reserved.flat_map(|reserved| &reserved.transferred) {
            if armed(Seeded::ReuseCredits) {
                break;
            }
            *balance.entry(gate).or_default() -= 1;
        }
        let credit = |((kind, key), count)| Credit {
            kind,
            key,
            count: u32::try_from(count).unwrap_or(0),
        };
        let balance = balance
            .into_iter()
            .filter(|&(_, count)| count > 0 && !armed(Seeded::WithholdCredits));
        balance.map(credit).collect()
    }

    /// The least position of a lane that this transaction made unavailable.
    pub fn least_gone(&self, lane: u64) -> Option<i64> {
        let changes = self
            .levels
            .iter()
            .filter_map(|level| level.lanes.get(&lane));
        let gone = changes.filter_map(|change| change.least_gone).min();
        gone.filter(|_| !armed(Seeded::PassOwnGone))
    }

    /// How many jobs the transaction has room reserved for.
    pub fn reservations(&self) -> usize {
        let levels = self.levels.iter();
        levels.map(|level| level.reservations.len()).sum()
    }

    /// Positions of a lane that this transaction made available: not committed, so not to be claimed.
    pub fn own_positions(&self, lane: u64) -> Vec<i64> {
        self.levels
            .iter()
            .filter_map(|level| level.lanes.get(&lane))
            .flat_map(|change| change.available.iter().copied())
            .filter(|_| !armed(Seeded::ClaimOwnJobs))
            .collect()
    }
}
