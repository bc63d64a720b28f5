//! A plain list of the workers that were seen, beside that of the scheduler.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use turnstile_scheduler::Fault;
use turnstile_scheduler::workers::{
    MOST_WORKERS, Sighting, WORKER_SLOTS, Worker, WorkerView, Workers, WorkersHeader,
    WorkersMemory, worker_buckets,
};

type Checked<T = ()> = Result<T, String>;

const QUEUES: u64 = 3;

#[derive(Default)]
struct Arrays {
    header: WorkersHeader,
    workers: Vec<Worker>,
    buckets: Vec<u32>,
}

impl Arrays {
    fn open(&mut self) -> Workers<'_> {
        Workers::new(WorkersMemory {
            header: &mut self.header,
            workers: &mut self.workers,
            buckets: &mut self.buckets,
        })
    }

    fn grow(&mut self, slots: usize) {
        self.workers.resize(slots, Worker::default());
        self.buckets.resize(worker_buckets(slots), 0);
    }
}

struct World {
    rng: SmallRng,
    arrays: Arrays,
    /// The most slots that there may be.
    most: usize,
    now: i64,
    /// The one that was seen last comes first.
    seen: Vec<WorkerView>,
}

pub fn run(seed: u64, steps: u64) -> Checked {
    let mut rng = SmallRng::seed_from_u64(seed);
    let most = match rng.random_bool(0.5) {
        true => WORKER_SLOTS + 50,
        false => rng.random_range(2..=20),
    };
    let names = rng.random_range(1..=2 * most as u64 + 4);
    let mut world = World {
        rng,
        arrays: Arrays::default(),
        most,
        now: 0,
        seen: Vec::new(),
    };
    for step in 0..steps {
        world.now += world.rng.random_range(-1..=3);
        let key = world.rng.random_range(1..=names);
        world
            .see(key)
            .map_err(|error| format!("step {step}: {error}"))?;
        if world.rng.random_bool(0.001) {
            world.arrays.open().forget_everything();
            world.seen.clear();
        }
        if step % 100 == 0 {
            world
                .compare()
                .map_err(|error| format!("step {step}: {error}"))?;
        }
    }
    Ok(())
}

fn name_of(key: u64) -> Option<Box<[u8]>> {
    (key != 1).then(|| format!("worker {key}").into_bytes().into())
}

fn name_of_queue(queue: u64) -> Box<[u8]> {
    format!("queue {queue}").into_bytes().into()
}

impl World {
    fn see(&mut self, key: u64) -> Checked {
        let name = name_of(key);
        let sighting = Sighting {
            key,
            name: name.as_deref(),
            queue: self.rng.random_range(0..QUEUES),
            claims: self.rng.random_range(0..=1),
            jobs: self.rng.random_range(0..=100),
            now: self.now,
        };
        while !note(&mut self.arrays.open(), &sighting)? {
            let has = self.arrays.workers.len();
            match has < self.most {
                true => self
                    .arrays
                    .grow((has + self.rng.random_range(2..=64)).min(self.most)),
                false => self.arrays.open().forget_oldest().map_err(said)?,
            }
        }
        let known = self.seen.iter().position(|it| it.name == name);
        let mut worker = match known {
            Some(at) => self.seen.remove(at),
            None => WorkerView {
                name: name.clone(),
                queue: 0,
                queue_name: Box::default(),
                first_seen: self.now,
                last_seen: self.now,
                claims: 0,
                jobs: 0,
            },
        };
        worker.queue = sighting.queue;
        worker.queue_name = name_of_queue(sighting.queue);
        worker.last_seen = worker.last_seen.max(self.now);
        worker.claims += sighting.claims;
        worker.jobs += sighting.jobs;
        self.seen.insert(0, worker);
        self.seen.truncate(MOST_WORKERS.min(self.most - 1));
        Ok(())
    }

    fn compare(&mut self) -> Checked {
        let found = self.arrays.open().view().map_err(said)?;
        match found == self.seen {
            true => Ok(()),
            false => Err(format!("{found:?} instead of {:?}", self.seen)),
        }
    }
}

fn note(workers: &mut Workers, sighting: &Sighting) -> Checked<bool> {
    let name_queue = |name: &mut turnstile_scheduler::workers::Name<255>| {
        name.set(&name_of_queue(sighting.queue));
    };
    workers.note(sighting, name_queue).map_err(said)
}

fn said(fault: Fault) -> String {
    format!("{fault:?}")
}
