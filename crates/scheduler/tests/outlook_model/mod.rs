//! Random claims, of which a naive model knows when each queue was claimed from and what has started behind each tenant, and for
//! random jobs what comes before them.

use crate::world::arena::Arena;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::{HashMap, HashSet};
use turnstile_scheduler::times::SECOND;
use turnstile_scheduler::{
    Capacity, EVERY_QUEUE, GateKind, GateSettings, JobPlace, LaneSpec, Limit, Outcome, Pick,
    ReservationId, Scheduler,
};

const QUEUES: u64 = 3;
const TENANTS: u64 = 3;
const BATCHES: u64 = 2;
const LANES: u64 = 40;
const BATCH_SLOTS: u32 = 1;

/// Claims count as lately for a minute, which ends somewhere within these times.
const SURELY: i64 = 50 * SECOND;
const NO_LONGER: i64 = 68 * SECOND;

type Outcomes<T> = Result<T, String>;

struct Model {
    rng: SmallRng,
    now: i64,
    lanes: Vec<(LaneSpec, i64)>,
    claimed_at: HashMap<u64, i64>,
    started: HashMap<u64, u32>,
    /// Runs that have not ended, and the batches in which one ever started.
    running: Vec<LaneSpec>,
    begun: HashSet<u64>,
}

fn settings(kind: GateKind) -> GateSettings {
    match kind {
        GateKind::Tenant => Limit::AtMost(5).into(),
        GateKind::Batch => Limit::AtMost(BATCH_SLOTS).into(),
        _ => Limit::None.into(),
    }
}

fn read_settings(scheduler: &mut Scheduler) {
    while let Some(gate) = scheduler
        .gate_slots()
        .find_map(|slot| scheduler.unknown_gate_at(slot).unwrap())
    {
        let settings = settings(gate.kind);
        scheduler
            .set_gate_settings(gate.kind, gate.key, gate.version, &settings)
            .unwrap();
    }
}

impl Model {
    fn lane(&mut self, number: u64) -> (LaneSpec, i64) {
        let rng = &mut self.rng;
        let spec = LaneSpec {
            lane: 1_000 + number,
            queue: rng.random_range(1..=QUEUES),
            tenant: 100 + rng.random_range(1..=TENANTS),
            batch: rng.random_range(0..=BATCHES),
            priority: rng.random_range(0..3),
            ..LaneSpec::default()
        };
        (spec, number.cast_signed() * 10)
    }

    /// A claim that finds fewer jobs than it has room for, or none, and may be undone.
    fn claim(&mut self, scheduler: &mut Scheduler) {
        let queue = match self.rng.random_bool(0.05) {
            true => EVERY_QUEUE,
            false => self.rng.random_range(1..=QUEUES),
        };
        let mut ids = vec![ReservationId::default(); self.rng.random_range(0..4)];
        let pick = scheduler.pick(queue, self.now, &mut [], &mut ids).unwrap();
        for each in 1..=QUEUES {
            if queue == EVERY_QUEUE || queue == each {
                self.claimed_at.insert(each, self.now);
            }
        }
        let Pick::Lane(picked) = pick else { return };
        ids.truncate(picked.reserved);
        let may_take = picked.reserved > 0 && picked.spec.tenant != 101;
        let is_taken = may_take && self.rng.random_bool(0.3);
        let taken: &[i64] = if is_taken { &[picked.head] } else { &[] };
        let outcome = Outcome {
            taken,
            seen: &[],
            seen_all: false,
        };
        scheduler.settle(&picked, &ids, outcome).unwrap();
        if !is_taken {
            return;
        }
        if self.rng.random_bool(0.3) {
            return scheduler.abort(ids[0]).unwrap();
        }
        scheduler.commit(ids[0]).unwrap();
        *self.started.entry(picked.spec.tenant).or_default() += 1;
        self.begun.insert(picked.spec.batch);
        self.running.push(picked.spec);
    }

    fn end_one(&mut self, scheduler: &mut Scheduler) {
        if !self.running.is_empty() {
            let nth = self.rng.random_range(0..self.running.len());
            let spec = self.running.swap_remove(nth);
            scheduler.release(&spec, 1).unwrap();
        }
    }

    /// A batch holds what runs of it, is closed while that is all that may, and keeps its lanes from running then.
    fn check_batches(&self, scheduler: &Scheduler) -> Outcomes<()> {
        for batch in 1..=BATCHES {
            let held = self.running.iter().filter(|it| it.batch == batch).count();
            let state = scheduler.gate_state(GateKind::Batch, batch).unwrap();
            let Some(state) = state else {
                continue;
            };
            let is_full = held >= BATCH_SLOTS as usize;
            if state.held as usize != held || state.is_open() == is_full {
                return Err(format!("batch {batch} has {held} running: {state:?}"));
            }
            if !self.begun.contains(&batch) && state.per_minute > 0.0 {
                return Err(format!("batch {batch}: {} a minute", state.per_minute));
            }
            for (spec, _) in self.lanes.iter().filter(|(spec, _)| spec.batch == batch) {
                let closed = scheduler.closed_gates(spec).unwrap();
                if closed.iter().any(|it| it.kind == GateKind::Batch) != is_full {
                    return Err(format!("{spec:?} is said to be held up by {closed:?}"));
                }
            }
        }
        Ok(())
    }

    fn check_claims(&self, scheduler: &Scheduler) -> Outcomes<()> {
        for queue in 1..=QUEUES {
            let is_lately = scheduler.is_claimed_lately(queue).unwrap();
            let ago = self.claimed_at.get(&queue).map(|at| self.now - at);
            let is_wrong = match ago {
                Some(ago) if ago < SURELY => !is_lately,
                Some(ago) if ago <= NO_LONGER => false,
                _ => is_lately,
            };
            if is_wrong {
                return Err(format!(
                    "queue {queue}, claimed from {ago:?} ago: {is_lately}"
                ));
            }
        }
        Ok(())
    }

    /// What never started has no pace.
    fn check_pace(&self, scheduler: &Scheduler) -> Outcomes<()> {
        for tenant in 101..=100 + TENANTS {
            let Some(state) = scheduler.gate_state(GateKind::Tenant, tenant).unwrap() else {
                continue;
            };
            if !self.started.contains_key(&tenant) && state.per_minute > 0.0 {
                return Err(format!("tenant {tenant}: {} a minute", state.per_minute));
            }
        }
        Ok(())
    }

    fn check_ahead(&mut self, scheduler: &Scheduler) -> Outcomes<()> {
        let (spec, position) = self.lanes[self.rng.random_range(0..self.lanes.len())];
        let job = JobPlace {
            spec: &spec,
            position: position + 5,
        };
        let [own, others] = scheduler.lanes_ahead(&job, 1_000).unwrap();
        let found: HashMap<u64, i64> = own
            .lanes
            .iter()
            .chain(&others.lanes)
            .map(|lane| (lane.spec.lane, lane.before))
            .collect();
        for (other, head) in &self.lanes {
            let shares_batch = other.batch != 0 && other.batch == spec.batch;
            let shares = other.queue == spec.queue || other.tenant == spec.tenant || shares_batch;
            let is_before = (other.priority, *head) < (spec.priority, job.position);
            let expected = shares && is_before && other.lane != spec.lane;
            if found.contains_key(&other.lane) != expected {
                return Err(format!("{other:?} before {spec:?}: {found:?}"));
            }
        }
        Ok(())
    }
}

pub fn run(seed: u64, steps: u64) -> Outcomes<()> {
    let mut model = Model {
        rng: SmallRng::seed_from_u64(seed),
        now: 800_000_000 * SECOND,
        lanes: Vec::new(),
        claimed_at: HashMap::new(),
        started: HashMap::new(),
        running: Vec::new(),
        begun: HashSet::new(),
    };
    let mut arena = Arena::new(Capacity {
        lanes: 200,
        nodes: 400,
        gates: 100,
        meters: 10,
        shares: 10,
        due: 10,
        leases: 4,
        samples: 10,
        reservations: 50,
    });
    let mut scheduler = arena.scheduler();
    for number in 1..=LANES {
        let (spec, head) = model.lane(number);
        scheduler.lower(&spec, head).unwrap();
        model.lanes.push((spec, head));
    }
    read_settings(&mut scheduler);
    for _ in 0..steps.min(400) {
        model.now += match model.rng.random_range(0..10) {
            0 => model.rng.random_range(0..90 * SECOND),
            _ => model.rng.random_range(0..SECOND),
        };
        scheduler.advance(model.now).unwrap();
        match model.rng.random_range(0..6) {
            0 => model.claim(&mut scheduler),
            1 => model.check_ahead(&scheduler)?,
            4 => model.end_one(&mut scheduler),
            5 => model.check_batches(&scheduler)?,
            2 => {
                let queue = model.rng.random_range(1..=QUEUES);
                scheduler.peek(queue, model.now).unwrap();
            }
            _ => {
                model.check_claims(&scheduler)?;
                model.check_pace(&scheduler)?;
            }
        }
        scheduler.audit().map_err(|fault| format!("{fault:?}"))?;
    }
    Ok(())
}
