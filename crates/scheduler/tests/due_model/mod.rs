//! A plain table of what is known of each queue, beside the scheduler's.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use turnstile_scheduler::probes::capacity_for;
use turnstile_scheduler::times::NEVER;
use turnstile_scheduler::{Capacity, Scheduler};

// The tests of scheduling use all of it.
#[allow(dead_code)]
#[path = "../world/arena.rs"]
mod arena;

mod leases;

use arena::{Arena, At};
use leases::Truth;

type Checked<T = ()> = Result<T, String>;

const QUEUES: u64 = 20;

/// What is known of a queue that has a slot.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Known {
    due: ([i64; 2], i64),
    promotions: u32,
}

const NOTHING: Known = Known {
    due: ([NEVER; 2], NEVER),
    promotions: 0,
};

struct World {
    rng: SmallRng,
    now: i64,
    slots: usize,
    known: BTreeMap<u64, Known>,
    /// The earliest time of each queue that found no slot.
    others: BTreeMap<u64, i64>,
    truth: Truth,
}

pub fn run(seed: u64, steps: u64) -> Checked {
    let mut rng = SmallRng::seed_from_u64(seed);
    let slots = rng.random_range(1..=24);
    let mut arena = Arena::new(Capacity {
        due: slots + 1,
        leases: rng.random_range(2..=62),
        ..capacity_for(4)
    });
    let mut world = World {
        rng,
        now: 0,
        slots,
        known: BTreeMap::new(),
        others: BTreeMap::new(),
        truth: Truth::default(),
    };
    for step in 0..steps {
        let mut scheduler = arena.scheduler();
        world
            .step(&mut scheduler)
            .and_then(|()| world.compare(&scheduler))
            .map_err(|error| format!("seed {seed}, step {step}: {error}"))?;
    }
    Ok(())
}

impl World {
    fn step(&mut self, scheduler: &mut Scheduler) -> Checked {
        let queue = self.rng.random_range(1..=QUEUES);
        let time = self.now + self.rng.random_range(-50..200);
        self.now += self.rng.random_range(0..5);
        match self.rng.random_range(0..100) {
            0..25 => {
                scheduler.note_due(queue, time).at("note_due")?;
                self.put_back_due(scheduler, queue, [time, i64::MIN], time)?;
            }
            25..45 => self.promote(scheduler)?,
            45..95 => self.step_leases(scheduler)?,
            95..98 => self.read_others(scheduler)?,
            _ => self.end(scheduler, queue)?,
        }
        Ok(())
    }

    /// A claim from all queues takes what is due first.
    fn promote(&mut self, scheduler: &mut Scheduler) -> Checked {
        let Some(queue) = scheduler.first_due(self.now).at("first_due")? else {
            return Ok(());
        };
        let floor = scheduler.take_due(queue).at("take_due")?;
        let known = self.known.entry(queue).or_insert(NOTHING);
        let before = std::mem::replace(&mut known.due, NOTHING.due);
        known.promotions += 1;
        if floor != before.0 {
            return Err(format!(
                "queue {queue}: the floor {floor:?} instead of {before:?}"
            ));
        }
        if self.rng.random_bool(0.5) {
            let next = [self.now + self.rng.random_range(0..100), 7];
            scheduler
                .put_back_due(queue, next, next[0])
                .at("put_back_due")?;
            self.put_back_due(scheduler, queue, next, next[0])?;
        }
        if self.rng.random_bool(0.9) {
            self.end(scheduler, queue)?;
        }
        Ok(())
    }

    fn end(&mut self, scheduler: &mut Scheduler, queue: u64) -> Checked {
        scheduler.end_promotion(queue).at("end_promotion")?;
        if let Some(known) = self.known.get_mut(&queue) {
            known.promotions = known.promotions.saturating_sub(1);
        }
        self.drop_if_idle(queue);
        Ok(())
    }

    fn read_others(&mut self, scheduler: &mut Scheduler) -> Checked {
        scheduler.take_others();
        for (queue, time) in std::mem::take(&mut self.others) {
            scheduler.note_due(queue, time).at("note_due")?;
            self.put_back_due(scheduler, queue, [time, i64::MIN], time)?;
        }
        Ok(())
    }

    fn put_back_due(
        &mut self,
        scheduler: &Scheduler,
        queue: u64,
        floor: [i64; 2],
        next: i64,
    ) -> Checked {
        if scheduler.has_times(queue).at("has_times")? {
            let known = self.known.entry(queue).or_insert(NOTHING);
            known.due = (known.due.0.min(floor), known.due.1.min(next));
            return Ok(());
        }
        let others = self.others.entry(queue).or_insert(NEVER);
        *others = next.min(*others);
        match scheduler.due_queues().count() == self.slots {
            true => Ok(()),
            false => Err(format!("queue {queue} gets no slot, although one is free")),
        }
    }

    fn drop_if_idle(&mut self, queue: u64) {
        if self.known.get(&queue) == Some(&NOTHING) {
            self.known.remove(&queue);
        }
    }

    fn compare(&self, scheduler: &Scheduler) -> Checked {
        scheduler.audit().at("audit")?;
        self.compare_leases(scheduler)?;
        let mut first = NEVER;
        let others = self.others.values().copied().min().unwrap_or(NEVER);
        for queue in 1..=QUEUES {
            let (due, lease) = scheduler.times_of(queue).at("times_of")?;
            first = first.min(due).min(lease);
            let known = self.known.get(&queue).map(|known| known.due.1);
            let expected = match scheduler.has_times(queue).at("has_times")? {
                true => known.unwrap_or(NEVER),
                false if known.is_some() => return Err(format!("queue {queue} has lost its slot")),
                false => others,
            };
            if due != expected {
                return Err(format!("queue {queue}: {due:?} instead of {expected:?}"));
            }
        }
        if (scheduler.next_due(), scheduler.others_due()) != (first.min(others), others) {
            return Err("another time is the first".into());
        }
        Ok(())
    }
}
