//! What this backend's open transaction has changed and the scheduler does not know yet, by savepoint level.

use crate::pg::seeded::{Seeded, armed};
use crate::pg::unguarded::GetCurrentTransactionNestLevel;
use crate::transaction::level::Level;
use crate::transaction::loss::Loss;
use crate::transaction::own::{self, Begun};
use crate::transaction::parent::Parent;
use pgrx::pg_sys;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::cell::RefCell;
use std::rc::Rc;
use turnstile_scheduler::figures::{Event, Id};
use turnstile_scheduler::{Credit, GateKind, LaneSpec};

/// What this backend is in the middle of. A user's trigger may begin the next piece of work within it, and an
/// EXCEPTION block undoes only what was begun inside it.
pub enum Work {
    /// A claim sets these runs (id, attempt) running, for which room is reserved; each is listed until the trigger
    /// has met it.
    Claim(Vec<(i64, i32)>),
    /// A promotion makes jobs of a queue available: these so far.
    Promotion(u64, Vec<(LaneSpec, i64)>),
    Rebuild,
    /// Jobs that waited for others become available: these so far.
    Release(Vec<(LaneSpec, i64)>),
    /// These jobs fail, for this reason; in order.
    Fail(Vec<i64>, Event),
    /// These jobs end, in these states; in order of their ids.
    End(SmallVec<[(i64, Event); 1]>),
    /// A count of the jobs.
    Count(u64),
    /// A claim that may sleep before it ends.
    Stay,
}

/// Everything that the open transaction has changed.
#[derive(Default)]
pub struct Pending {
    /// Of which jobs. It comes with each change, so that the end of the transaction finds the memory to tell.
    job_table: pg_sys::Oid,
    levels: Vec<Level>,
    /// With the nesting level at which each began, the innermost last.
    works: Vec<(i32, Work)>,
    /// Backlogs about which the client was warned in this transaction.
    pub warned: Vec<Id>,
    /// The claim has done what others may wait for, so it must not sleep.
    pub must_not_sleep: bool,
    /// It has stopped a batch, of which none of its own claims may start a job.
    pub must_not_claim: bool,
    /// It has waited long enough for another backend to count the jobs.
    pub has_given_up_count: bool,
    pub loss: Loss,
}

thread_local! {
    static PENDING: RefCell<Pending> = RefCell::default();
}

/// Runs `change` on the pending changes. It must not call into the server.
pub fn with<R>(change: impl FnOnce(&mut Pending) -> R) -> R {
    PENDING.with(|pending| change(&mut pending.borrow_mut()))
}

/// As [`with`], at the current savepoint level, about these jobs.
pub fn note<R>(job_table: pg_sys::Oid, change: impl FnOnce(&mut Level) -> R) -> R {
    with(|pending| {
        pending.job_table = job_table;
        change(pending.level(GetCurrentTransactionNestLevel()))
    })
}

/// Notes what is begun. It ends by [`end`], or with the savepoint or transaction in which it began.
pub fn begin(job_table: pg_sys::Oid, work: Work) {
    with(|pending| {
        pending.job_table = job_table;
        pending.works.push((GetCurrentTransactionNestLevel(), work));
    });
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

/// A claim has changed or locked jobs beside those that it returns. Others may wait for that, and for what it made available
/// it may itself not be the one that takes it.
pub fn must_commit_before_sleep() {
    if !armed(Seeded::SleepOnChanges) {
        with(|pending| pending.must_not_sleep = true);
    }
}

/// This transaction has changed a job: what it knew of it as a parent may not be true any more.
pub fn forget_parent(id: Option<i64>) {
    with(|pending| {
        for level in &mut pending.levels {
            if !level.parents.is_empty() {
                level.parents.retain(|&(known, _)| Some(known) != id);
            }
        }
    });
}

/// What this transaction knew of parents may not be true any more.
pub fn forget_parents() {
    with(|pending| {
        for level in &mut pending.levels {
            level.parents.clear();
        }
    });
}

impl Pending {
    /// A parent that this transaction keeps from ending.
    pub fn parent(&self, id: i64) -> Option<Rc<Parent>> {
        let mut known = self.levels.iter().flat_map(|level| &level.parents);
        let found = known.find(|&&(known, _)| known == id);
        found.map(|(_, parent)| parent.clone())
    }

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

    pub fn job_table(&self) -> pg_sys::Oid {
        self.job_table
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
        self.warned.clear();
        self.has_given_up_count = false;
        self.must_not_sleep = false;
        self.must_not_claim = false;
        self.loss = Loss::default();
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

    /// The jobs that the promotion, or what else is under way, has made available.
    pub fn promotion(&mut self) -> Option<&mut Vec<(LaneSpec, i64)>> {
        self.works
            .iter_mut()
            .rev()
            .find_map(|(_, work)| match work {
                Work::Promotion(_, jobs) | Work::Release(jobs) => Some(jobs),
                _ => None,
            })
    }

    /// Room that this transaction gives back when it commits and has not used again itself.
    pub fn credits(&self) -> Vec<Credit> {
        let mut balance: FxHashMap<(GateKind, u64), i64> = FxHashMap::default();
        for lane in self.levels.iter().flat_map(Level::runs) {
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

    /// As what a run of this job fails, if a verb fails it.
    pub fn failure_of(&self, job_id: i64) -> Option<Event> {
        let mut works = self.works.iter().rev();
        works.find_map(|(_, work)| match work {
            Work::Fail(ids, event) if ids.binary_search(&job_id).is_ok() => Some(*event),
            _ => None,
        })
    }

    /// As what a job ends, if a verb ends it.
    pub fn end_of(&self, job_id: i64) -> Option<Event> {
        let mut works = self.works.iter().rev();
        works.find_map(|(_, work)| match work {
            Work::End(endings) => {
                let found = endings.binary_search_by_key(&job_id, |&(id, _)| id).ok()?;
                endings.get(found).map(|&(_, event)| event)
            }
            _ => None,
        })
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

    pub fn claims_own(&self) -> bool {
        self.levels.iter().any(|level| level.own.is_used)
    }

    /// Whether `claim_own` is changing the job, or has begun it.
    pub fn has_begun(&self, job_id: i64) -> bool {
        self.levels.iter().any(|level| level.own.is_claiming) || self.begun(job_id).is_some()
    }

    pub fn begun(&self, job_id: i64) -> Option<Begun> {
        let mut levels = self.levels.iter().rev();
        levels.find_map(|level| level.own.begun.get(&job_id).copied())
    }

    pub fn all_begun(&self) -> Vec<i64> {
        let levels = self.levels.iter();
        levels
            .flat_map(|level| level.own.begun.keys().copied())
            .collect()
    }

    /// A job (id, attempt) that `claim_own` has begun and that has not ended.
    pub fn open_own_run(&self) -> Option<(i64, i32)> {
        let open = self.all_begun().into_iter().filter_map(|id| {
            let begun = self.begun(id).filter(|begun| begun.is_open)?;
            Some((id, begun.attempt))
        });
        open.min()
    }

    /// The lanes and positions that this transaction made available, each as often, and `claim_own` has not looked at since.
    pub fn own_available(&self) -> Vec<(LaneSpec, i64)> {
        let mut passed = FxHashMap::default();
        for level in &self.levels {
            own::add(&mut passed, level.own.passed.clone());
        }
        let lanes = self.levels.iter().flat_map(|level| level.lanes.values());
        let each = lanes.flat_map(|lane| lane.available.iter().map(|&at| (lane.spec, at)));
        own::beyond(each, passed, |(spec, at)| (spec.lane, *at))
    }

    /// Jobs after which others have not been looked at yet, for `claim_own`.
    pub fn own_follow_ups(&self) -> Vec<i64> {
        let mut followed = FxHashMap::default();
        for level in &self.levels {
            own::add(&mut followed, level.own.followed.clone());
        }
        let all = self.levels.iter().flat_map(|level| &level.follow_ups);
        own::beyond(all.copied(), followed, |&job| job)
    }

    /// How often the transaction has changed jobs.
    pub fn changes(&self) -> usize {
        self.levels.iter().map(|level| level.changes).sum()
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
