//! What the open transaction has changed at one level of savepoints.

use crate::shmem::{FollowUp, Gone, Passed};
use crate::transaction::charges::Charges;
use crate::transaction::earliest::Earliest;
use crate::transaction::leases::Leases;
use crate::transaction::own::Own;
use crate::transaction::parent::Parent;
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;
use turnstile_scheduler::figures::Change;
use turnstile_scheduler::{GateKind, LaneSpec, ReservationId};

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
    /// What it means to those who count the jobs of its names.
    pub figures: Change,
}

/// Room that a claim has reserved for a job.
#[derive(PartialEq)]
pub struct Reserved {
    pub id: ReservationId,
    /// Gates at which it took over room that this transaction gives back.
    pub transferred: Vec<(GateKind, u64)>,
    /// The job does not start: it opens its batch. Others of its session wait until the transaction ends.
    pub is_turn: bool,
}

/// Changes made at one nesting level of savepoints.
#[derive(Default, PartialEq)]
pub struct Level {
    pub nesting: i32,
    /// By their keys, which are hashes. A table of the changes themselves would be too large for memory that is quick to get.
    pub lanes: FxHashMap<u64, Box<LaneChange>>,
    /// How often any of them was changed.
    pub changes: usize,
    /// Those of the lanes in which runs have begun or ended. Each claim of the transaction asks for them.
    pub lanes_of_runs: FxHashSet<u64>,
    pub reservations: Vec<Reserved>,
    /// Lanes that a claim sets aside while it runs, because another transaction has locked their next job.
    pub set_aside: Vec<Passed>,
    /// Jobs that this transaction keeps from being claimed before it ends, without changing them.
    pub kept_waiting: Vec<(LaneSpec, i64)>,
    pub charges: Charges,
    pub settings: Vec<(GateKind, u64)>,
    /// Kinds of gates whose default row changed.
    pub defaults: Vec<GateKind>,
    /// Rates that rows have lost: of the gate, or of the kind where it was a default row, and since when.
    pub lost_rates: Vec<(GateKind, Option<u64>, i64)>,
    /// Rows of `turnstile.route` changed.
    pub routes: bool,
    /// Rows of `turnstile.recurring` changed.
    pub recurring: bool,
    /// Bounds of backlogs changed.
    pub bounds: bool,
    /// The earliest time for which a job of each queue was put off.
    pub next_due: Earliest,
    /// The earliest time of jobs that were put off before, or at which a promotion began; an abort brings it back.
    pub due_taken: Earliest,
    pub leases: Leases,
    /// The leases outside memory were taken to be looked at; an abort has them looked at again.
    pub takes_leases_outside: bool,
    /// Backends that were taken from memory, to rescue the runs bound to them; an abort brings them back.
    pub gone: Gone,
    /// Jobs after which those that wait for them are to be looked at, or that wait themselves since this transaction.
    pub follow_ups: Vec<i64>,
    /// The same that were taken from memory, to look at them; an abort brings them back.
    pub followed_up: FollowUp,
    /// Runs (id, attempt) that failed and will be repeated.
    pub failed_runs: Vec<(i64, i32)>,
    /// Parents that this transaction keeps from ending.
    pub parents: Vec<(i64, Rc<Parent>)>,
    pub own: Own,
    /// The tables changed in a way that rows do not tell: `TRUNCATE`.
    pub rebuild: bool,
    /// `turnstile.job` is gone.
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
            figures,
        } = inner;
        self.available.extend(available);
        self.least_promoted = least(self.least_promoted, least_promoted);
        self.promoted += promoted;
        self.least_gone = least(self.least_gone, least_gone);
        self.started += started;
        self.released += released;
        self.figures.absorb(figures);
    }
}

impl Level {
    pub fn is_empty(&self) -> bool {
        let nothing = || Self {
            nesting: self.nesting,
            ..Self::default()
        };
        self.lanes.is_empty() && *self == nothing()
    }

    /// A row of settings has lost a rate: that of a gate, or for none a default row of the kind.
    pub fn lose_rate(&mut self, kind: GateKind, key: Option<u64>, since: i64) {
        let mut lost = self.lost_rates.iter_mut();
        match lost.find(|lost| key.is_none() && (lost.0, lost.1) == (kind, None)) {
            Some(lost) => lost.2 = lost.2.min(since),
            None => self.lost_rates.push((kind, key, since)),
        }
    }

    pub fn changes_settings(&self) -> bool {
        !self.settings.is_empty() || !self.defaults.is_empty()
    }

    pub fn lane(&mut self, spec: LaneSpec) -> &mut LaneChange {
        self.changes += 1;
        change_of(&mut self.lanes, spec)
    }

    /// A job of the lane has ceased to run.
    pub fn note_end(&mut self, spec: LaneSpec) {
        self.lane_of_run(spec).released += 1;
    }

    /// A job of the lane runs, which no claim has started.
    pub fn note_start(&mut self, spec: LaneSpec) {
        self.lane_of_run(spec).started += 1;
    }

    fn lane_of_run(&mut self, spec: LaneSpec) -> &mut LaneChange {
        self.changes += 1;
        let lane = change_of(&mut self.lanes, spec);
        if lane.released == 0 && lane.started == 0 {
            self.lanes_of_runs.insert(spec.lane);
        }
        lane
    }

    /// Changes of lanes in which runs have begun or ended.
    pub fn runs(&self) -> impl Iterator<Item = &LaneChange> {
        let lanes = self.lanes_of_runs.iter();
        lanes.filter_map(|lane| self.lanes.get(lane).map(Box::as_ref))
    }

    /// Those that end are most likely the last ones.
    pub fn end_reservations(&mut self, ended: &[ReservationId]) {
        for id in ended.iter().rev() {
            let mut known = self.reservations.iter();
            if let Some(at) = known.rposition(|reserved| reserved.id == *id) {
                self.reservations.remove(at);
            }
        }
    }

    /// From where lanes are to be looked at again when the transaction ends.
    pub fn kept_back(&self) -> impl Iterator<Item = (LaneSpec, i64)> {
        let set_aside = self.set_aside.iter();
        let set_aside = set_aside.map(|passed| (passed.spec, passed.position));
        set_aside.chain(self.kept_waiting.iter().copied())
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

    /// Every field is named, so that a new one is not forgotten.
    pub fn absorb(&mut self, inner: Level) {
        let Level {
            nesting: _,
            lanes,
            changes,
            lanes_of_runs,
            reservations,
            set_aside,
            kept_waiting,
            charges,
            settings,
            lost_rates,
            defaults,
            routes,
            recurring,
            bounds,
            next_due,
            due_taken,
            leases,
            takes_leases_outside,
            gone,
            follow_ups,
            followed_up,
            failed_runs,
            parents,
            own,
            rebuild,
            is_dropped,
        } = inner;
        for (_, change) in lanes {
            change_of(&mut self.lanes, change.spec).absorb(*change);
        }
        self.changes += changes;
        self.lanes_of_runs.extend(lanes_of_runs);
        self.reservations.extend(reservations);
        self.set_aside.extend(set_aside);
        self.kept_waiting.extend(kept_waiting);
        self.charges.absorb(charges);
        self.settings.extend(settings);
        self.lost_rates.extend(lost_rates);
        self.defaults.extend(defaults);
        self.routes |= routes;
        self.recurring |= recurring;
        self.bounds |= bounds;
        self.next_due.absorb(next_due);
        self.due_taken.absorb(due_taken);
        self.leases.absorb(leases);
        self.takes_leases_outside |= takes_leases_outside;
        self.gone.absorb(gone);
        self.follow_ups.extend(follow_ups);
        self.followed_up.absorb(followed_up);
        self.failed_runs.extend(failed_runs);
        self.parents.extend(parents);
        self.own.absorb(own);
        self.rebuild |= rebuild;
        self.is_dropped |= is_dropped;
    }
}

fn change_of(lanes: &mut FxHashMap<u64, Box<LaneChange>>, spec: LaneSpec) -> &mut LaneChange {
    let change = || LaneChange {
        spec,
        ..LaneChange::default()
    };
    lanes.entry(spec.lane).or_insert_with(|| Box::new(change()))
}

pub fn least(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    a.into_iter().chain(b).min()
}
