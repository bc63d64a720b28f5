//! More lanes than fit, of tenants who have very many and tenants who have few. A lane leaves only from those who have
//! about the most.

use std::collections::HashMap;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use turnstile_scheduler::{
    Capacity, EVERY_QUEUE, LaneKey, LaneSpec, Limit, Outcome, Part, Pick, ReservationId,
};

use crate::world::arena::{Arena, At};

type Checked<T = ()> = Result<T, String>;
type Tenant = (u64, u64);

const LANES: usize = 60;
const BATCH: u32 = 8;
const CAPACITY: Capacity = Capacity {
    lanes: LANES,
    nodes: 4 * LANES,
    gates: 1_000,
    meters: 8,
    shares: 64,
    reservations: 8,
    due: 8,
    leases: 4,
    samples: 8,
};

struct Crowd {
    rng: SmallRng,
    arena: Arena,
    /// Each has one job, whose position is its own.
    waiting: HashMap<u64, (LaneSpec, i64)>,
    last_position: i64,
}

pub fn run(seed: u64, steps: u64) -> Checked {
    let mut rng = SmallRng::seed_from_u64(seed);
    let records = rng.random_range(1..40);
    let mut crowd = Crowd {
        rng,
        arena: Arena::with_records(CAPACITY, records),
        waiting: HashMap::new(),
        last_position: 0,
    };
    for step in 0..steps {
        let done = crowd.step();
        done.map_err(|error| format!("seed {seed}, step {step}: {error}"))?;
    }
    Ok(())
}

fn tenant_of(spec: &LaneSpec) -> Tenant {
    (spec.queue, spec.tenant)
}

impl Crowd {
    fn step(&mut self) -> Checked {
        match self.rng.random_range(0..10) {
            0..5 => self.enqueue()?,
            5..8 => self.claim()?,
            _ => self.load()?,
        }
        self.arena.scheduler().audit().at("audit")?;
        self.check_that_all_are_known()
    }

    /// The first tenants have far more lanes than the last.
    fn enqueue(&mut self) -> Checked {
        let mut number = 0;
        while number < 12 && self.rng.random_bool(0.4) {
            number += 1;
        }
        self.last_position += 1;
        let spec = LaneSpec {
            lane: self.rng.random(),
            queue: (number % 3 + 1) << 32,
            tenant: number,
            ..LaneSpec::default()
        };
        let before = self.in_memory()?;
        self.waiting.insert(spec.lane, (spec, self.last_position));
        let lowered = self.arena.scheduler().lower(&spec, self.last_position);
        lowered.at("lower")?;
        self.check_who_left(&before, None, Some(tenant_of(&spec)))
    }

    fn load(&mut self) -> Checked {
        let queue = match self.rng.random_range(0..4) {
            0 => EVERY_QUEUE,
            number => number << 32,
        };
        let part = self.arena.scheduler().part_to_load(queue, BATCH);
        if let Some(part) = part.at("part to load")? {
            let (lanes, last) = self.read(&part);
            let before = self.in_memory()?;
            let readers: Vec<Tenant> = lanes.iter().map(|(spec, _)| tenant_of(spec)).collect();
            let offered = self
                .arena
                .scheduler()
                .offer(&part, &lanes, last, EVERY_QUEUE, &[]);
            offered.at("offer")?;
            self.check_who_left(&before, Some(&readers), None)?;
        }
        Ok(())
    }

    fn read(&self, part: &Part) -> (Vec<(LaneSpec, i64)>, Option<LaneKey>) {
        let is_in = |spec: &LaneSpec| {
            let key = LaneKey::from(spec);
            key > part.after && (part.from_group..=part.to_group).contains(&key.group)
        };
        let mut lanes: Vec<_> = self.waiting.values().copied().collect();
        lanes.retain(|(spec, _)| is_in(spec));
        lanes.sort_unstable_by_key(|(spec, _)| LaneKey::from(spec));
        lanes.truncate(BATCH as usize);
        let last = lanes.last().filter(|_| lanes.len() == BATCH as usize);
        let last = last.map(|(spec, _)| LaneKey::from(spec));
        (lanes, last)
    }

    /// Whatever is picked has its one job, which is done at once.
    fn claim(&mut self) -> Checked {
        for _ in 0..4 {
            let mut ids = [ReservationId::default()];
            let mut scheduler = self.arena.scheduler();
            match scheduler
                .pick(EVERY_QUEUE, 1, &mut [], &mut ids)
                .at("pick")?
            {
                Pick::Lane(picked) => {
                    let spec = picked.spec;
                    let position = self
                        .waiting
                        .remove(&spec.lane)
                        .map(|(_, position)| position);
                    let taken: Vec<i64> = position.into_iter().collect();
                    let outcome = Outcome {
                        taken: &taken,
                        seen: &[],
                        seen_all: true,
                    };
                    scheduler.settle(&picked, &ids, outcome).at("settle")?;
                    scheduler.commit(ids[0]).at("commit")?;
                    return scheduler.release(&spec, 1).at("release");
                }
                Pick::Unknown(_, gates) => {
                    for gate in gates.into_iter().filter(|gate| gate.key != 0) {
                        let none = Limit::None.into();
                        let set =
                            scheduler.set_gate_settings(gate.kind, gate.key, gate.version, &none);
                        set.at("set_gate_settings")?;
                    }
                }
                Pick::Nothing | Pick::Exhausted => return Ok(()),
            }
        }
        Ok(())
    }

    fn in_memory(&mut self) -> Checked<HashMap<u64, Tenant>> {
        let scheduler = self.arena.scheduler();
        let mut lanes = HashMap::new();
        for slot in scheduler.lane_slots() {
            if let Some(lane) = scheduler.lane_at(slot).at("lane_at")? {
                lanes.insert(lane.spec.lane, tenant_of(&lane.spec));
            }
        }
        Ok(lanes)
    }

    /// Who loses a lane has about the most. A tenant whose lanes were read may lose one for another.
    fn check_who_left(
        &mut self,
        before: &HashMap<u64, Tenant>,
        readers: Option<&[Tenant]>,
        producer: Option<Tenant>,
    ) -> Checked {
        let mut had: HashMap<Tenant, u32> = HashMap::new();
        for &tenant in before.values() {
            *had.entry(tenant).or_default() += 1;
        }
        let most = had.values().copied().max().unwrap_or(0);
        let after = self.in_memory()?;
        for (lane, tenant) in before {
            if after.contains_key(lane) || readers.is_some_and(|it| it.contains(tenant)) {
                continue;
            }
            // Several may leave while one part is taken in.
            let lanes = had[tenant] * if readers.is_some() { 4 } else { 2 };
            if lanes <= most {
                return Err(format!(
                    "{tenant:?} lost one of {} lanes, {most} are the most",
                    had[tenant]
                ));
            }
            let gained = producer.map_or(0, |it| had.get(&it).copied().unwrap_or(0) + 1);
            if gained >= most.max(2) {
                return Err(format!(
                    "{tenant:?} lost a lane to {producer:?}, who has {gained}"
                ));
            }
        }
        Ok(())
    }

    /// No lane is lost.
    fn check_that_all_are_known(&mut self) -> Checked {
        let in_memory = self.in_memory()?;
        let scheduler = self.arena.scheduler();
        for (spec, _) in self.waiting.values() {
            let is_known = in_memory.contains_key(&spec.lane)
                || scheduler.is_on_record(spec).at("is_on_record")?;
            if !is_known {
                return Err(format!("{spec:?} is neither in memory nor on record"));
            }
        }
        Ok(())
    }
}
