//! The scheduler driven as the server drives it, beside the room that each gate must hold.

use std::collections::HashMap;

use turnstile_scheduler::{
    Capacity, Fault, GateKind, LaneSpec, Limit, Pick, Picked, ReservationId, Scheduler, Step,
};

use crate::arena::Arena;

pub const CAPACITY: Capacity = Capacity {
    lanes: 11,
    nodes: 34,
    gates: 30,
    meters: 30,
    reservations: 10,
    shares: 8,
    due: 4,
    leases: 4,
    samples: 6,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Stale,
    Rebuilding,
    Ready,
}

/// A claim between its pick and its settling.
pub struct Claim {
    pub picked: Picked,
    pub reservations: Vec<ReservationId>,
}

pub struct Model {
    pub arena: Arena,
    pub phase: Phase,
    /// What the gates must hold, and how much of it is for running jobs.
    pub held: HashMap<(u8, u64), i64>,
    pub runs: HashMap<(u8, u64), i64>,
    /// Jobs whose end was announced before a rebuild has read them.
    pub unread: Vec<(LaneSpec, u32)>,
    /// Reservations that are neither committed nor aborted, with what each was made for.
    pub open: Vec<(ReservationId, LaneSpec)>,
    pub claims: Vec<Claim>,
}

impl Model {
    pub fn new() -> Self {
        Self {
            arena: Arena::new(CAPACITY),
            phase: Phase::Ready,
            held: HashMap::new(),
            runs: HashMap::new(),
            unread: Vec::new(),
            open: Vec::new(),
            claims: Vec::new(),
        }
    }

    /// Takes a step. As in the server, a fault of any sort makes the memory stale.
    pub fn step<R>(&mut self, take: impl FnOnce(&mut Scheduler) -> Step<R>) -> Step<R> {
        let result = take(&mut self.arena.scheduler());
        if result.is_err() {
            self.phase = Phase::Stale;
        }
        result
    }

    /// Takes a step that nothing but a lack of slots can prevent.
    #[track_caller]
    pub fn sound<R>(&mut self, take: impl FnOnce(&mut Scheduler) -> Step<R>) -> Option<R> {
        match self.step(take) {
            Ok(result) => Some(result),
            Err(Fault::Full) => None,
            Err(Fault::Corrupt(what)) => panic!("a sound step found: {what}"),
        }
    }

    /// Jobs of a lane began or ceased to run.
    pub fn count_runs(&mut self, spec: &LaneSpec, change: i64) {
        for (kind, key) in spec.gates() {
            *self.runs.entry((kind as u8, key)).or_default() += change;
        }
    }

    pub fn count(&mut self, spec: &LaneSpec, change: i64) {
        self.count_runs(spec, change);
        for (kind, key) in spec.gates() {
            self.count_gate(kind, key, change);
        }
    }

    pub fn runs(&self, kind: GateKind, key: u64) -> i64 {
        self.runs.get(&(kind as u8, key)).copied().unwrap_or(0)
    }

    pub fn count_gate(&mut self, kind: GateKind, key: u64, change: i64) {
        *self.held.entry((kind as u8, key)).or_default() += change;
    }

    pub fn held(&self, kind: GateKind, key: u64) -> i64 {
        self.held.get(&(kind as u8, key)).copied().unwrap_or(0)
    }

    fn transferred(&mut self, id: ReservationId) -> Vec<(GateKind, u64)> {
        let transferred = self.arena.scheduler().transferred(id);
        transferred.map(Iterator::collect).unwrap_or_default()
    }

    /// Counts the room that a reservation holds itself: at all gates but where it took over another's.
    pub fn count_reserved(&mut self, id: ReservationId, spec: &LaneSpec, change: i64) {
        let transferred = self.transferred(id);
        for (kind, key) in spec.gates().filter(|gate| !transferred.contains(gate)) {
            self.count_gate(kind, key, change);
        }
    }

    pub fn count_transferred(&mut self, id: ReservationId, change: i64) {
        for (kind, key) in self.transferred(id) {
            self.count_gate(kind, key, change);
        }
    }

    /// What must be true of memory that can be trusted.
    pub fn check(&mut self) {
        if self.phase == Phase::Stale {
            return;
        }
        let scheduler = self.arena.scheduler();
        assert_eq!(scheduler.audit(), Ok(()));
        let mut left = self.held.clone();
        for slot in scheduler.gate_slots() {
            if let Some(gate) = scheduler.gate_at(slot).unwrap() {
                let held = left.remove(&(gate.kind as u8, gate.key)).unwrap_or(0);
                assert_eq!(
                    i64::from(gate.held),
                    held,
                    "{:?} gate {}",
                    gate.kind,
                    gate.key
                );
            }
        }
        assert!(
            left.values().all(|&held| held == 0),
            "a gate that holds is gone"
        );
    }

    /// A pick without credits: it passes no limit, and finds a lane if one may run.
    pub fn check_pick(&mut self, queue: u64, pick: &Pick, before: &HashMap<(u8, u64), i64>) {
        match pick {
            Pick::Lane(picked) if picked.reserved > 0 => {
                for (kind, key) in picked.spec.gates() {
                    let had = before.get(&(kind as u8, key)).copied().unwrap_or(0);
                    let most = i64::from(self.most(kind, key));
                    assert!(
                        self.held(kind, key) <= most.max(had),
                        "{kind:?} gate {key} is passed"
                    );
                }
            }
            Pick::Nothing => assert_eq!(self.runnable_without_session(queue), None),
            _ => {}
        }
    }

    fn most(&mut self, kind: GateKind, key: u64) -> u32 {
        let scheduler = self.arena.scheduler();
        let gates = scheduler
            .gate_slots()
            .filter_map(|slot| scheduler.gate_at(slot).unwrap());
        let limit = gates
            .filter(|gate| (gate.kind, gate.key) == (kind, key))
            .map(|gate| gate.limit)
            .next();
        match limit {
            Some(Limit::AtMost(most)) => most,
            _ => u32::MAX,
        }
    }

    fn runnable_without_session(&mut self, queue: u64) -> Option<LaneSpec> {
        let scheduler = self.arena.scheduler();
        let lanes: Vec<LaneSpec> = scheduler
            .lane_slots()
            .filter_map(|slot| scheduler.lane_at(slot).unwrap())
            .map(|lane| lane.spec)
            .filter(|spec| spec.queue == queue && spec.session == 0)
            .collect();
        lanes.into_iter().find(|spec| {
            spec.gates()
                .all(|(kind, key)| self.held(kind, key) < i64::from(self.most(kind, key)))
        })
    }

    /// Starts a rebuild: what is held afterwards is what open reservations hold.
    pub fn begin_rebuild(&mut self) {
        if self.sound(|scheduler| scheduler.begin_rebuild()).is_none() {
            return;
        }
        self.phase = Phase::Rebuilding;
        self.held.clear();
        self.runs.clear();
        self.unread.clear();
        for (id, spec) in self.open.clone() {
            self.count_reserved(id, &spec, 1);
        }
    }

    /// Ends it; if jobs ended that it never read, it says so where that shows.
    pub fn end_rebuild(&mut self, reads_all: bool) {
        let mut below_nothing = self.held.values().any(|&held| held < 0);
        if reads_all || !below_nothing {
            below_nothing = false;
            for (spec, count) in std::mem::take(&mut self.unread) {
                if self
                    .sound(|scheduler| scheduler.hold(&spec, count))
                    .is_none()
                {
                    return;
                }
                self.count(&spec, count.into());
            }
        }
        match self.step(|scheduler| scheduler.end_rebuild()) {
            Ok(()) => assert!(!below_nothing, "a gate holds less than nothing"),
            Err(_) => assert!(below_nothing, "a rebuild does not end"),
        }
        if self.phase == Phase::Rebuilding {
            self.phase = Phase::Ready;
        }
    }
}
