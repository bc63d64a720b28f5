//! A server in which jobs come and go and workers sleep, in as few words as the rule needs.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use turnstile_scheduler::EVERY_QUEUE;
use turnstile_scheduler::waiting::{
    MOST_QUEUES, NEVER, Night, PATIENCE, Sleeper, Waiting, Watched,
};

/// Where a worker is, as a naive observer sees it.
#[derive(Clone, Debug, PartialEq)]
enum Worker {
    /// Busy with something else.
    Away,
    /// In the sleeping call, until that time or until it is rung.
    Asleep { until: i64, rung: bool },
    /// Back from it, about to claim.
    Called,
}

struct World {
    rng: SmallRng,
    now: i64,
    night: Night,
    sleepers: Vec<Sleeper>,
    watched: Vec<Watched>,
    workers: Vec<Worker>,
    wants: Vec<Vec<u64>>,
    /// Jobs that can be claimed, by queue; a paused queue keeps its own.
    jobs: Vec<u32>,
    paused: Vec<bool>,
    /// When something is due: then a job appears in the queue, if somebody looks.
    due: (i64, usize),
}

pub fn run(seed: u64, steps: u64) -> Result<(), String> {
    let mut world = World::new(seed);
    for step in 0..steps {
        let outcome = match step % 250 {
            249 => world.settle_down(),
            _ => world.step(),
        };
        outcome.map_err(|error| format!("seed {seed}, step {step}: {error}"))?;
    }
    Ok(())
}

impl World {
    fn new(seed: u64) -> Self {
        let mut rng = SmallRng::seed_from_u64(seed);
        let workers = rng.random_range(1..=24);
        let queues = rng.random_range(1..=4);
        Self {
            now: 1_000_000,
            night: Night::default(),
            sleepers: vec![Sleeper::NOBODY; workers],
            watched: vec![Watched::default(); workers * MOST_QUEUES],
            workers: vec![Worker::Away; workers],
            wants: vec![Vec::new(); workers],
            jobs: vec![0; queues + 1],
            paused: vec![false; queues + 1],
            due: (NEVER, 1),
            rng,
        }
    }

    fn step(&mut self) -> Result<(), String> {
        let who = self.rng.random_range(0..self.workers.len());
        match self.rng.random_range(0..100) {
            0..12 => self.commit(),
            12..16 => self.pause_or_resume(),
            16..18 => self.put_off(),
            18..40 => self.pass_time(self.now + 20_000),
            40..43 => self.die(who),
            43..46 if self.workers[who] == Worker::Called => self.workers[who] = Worker::Away,
            _ => self.act(who)?,
        }
        self.check_rule()
    }

    /// What a worker does next if nothing comes between.
    fn act(&mut self, who: usize) -> Result<(), String> {
        match self.workers[who].clone() {
            Worker::Away => return self.go_to_sleep(who),
            Worker::Asleep { until, rung } if rung || until <= self.now => self.look(who),
            Worker::Asleep { .. } => {}
            Worker::Called => self.claim(who),
        }
        Ok(())
    }

    fn any_queue(&mut self) -> usize {
        self.rng.random_range(1..self.jobs.len())
    }

    fn commit(&mut self) {
        let queue = self.any_queue();
        let number = [1, 1, 1, 2, 10][self.rng.random_range(0..5)];
        self.add(queue, number);
    }

    fn add(&mut self, queue: usize, number: u32) {
        self.jobs[queue] += number;
        self.tend(&[(queue as u64, number)]);
    }

    fn pause_or_resume(&mut self) {
        let queue = self.any_queue();
        self.paused[queue] = !self.paused[queue];
        self.tend(&[]);
    }

    fn put_off(&mut self) {
        if self.due.0 == NEVER {
            self.due = (
                self.now + self.rng.random_range(0..200_000),
                self.any_queue(),
            );
            self.tend(&[]);
        }
    }

    fn pass_time(&mut self, at_most: i64) {
        self.now = self.rng.random_range(self.now..=at_most);
    }

    /// Cancelled, terminated, disconnected: a dead worker's place is taken by another, who is away.
    fn die(&mut self, who: usize) {
        self.waiting().get_up(who as u32 + 1);
        self.workers[who] = Worker::Away;
        self.tend(&[]);
    }

    /// Who comes finds what can be claimed, whoever else was woken for it.
    fn go_to_sleep(&mut self, who: usize) -> Result<(), String> {
        let queues = self.jobs.len() as u64;
        let mut wants: Vec<u64> = (1..queues).filter(|_| self.rng.random_bool(0.4)).collect();
        if wants.is_empty() || self.rng.random_bool(0.1) {
            wants = vec![EVERY_QUEUE];
        }
        self.wants[who] = wants.clone();
        self.look(who);
        let is_called = self.workers[who] == Worker::Called;
        match wants.iter().find(|&&queue| self.has_work(queue)) {
            Some(queue) if !is_called => Err(format!(
                "worker {who} lies down although queue {queue} has work"
            )),
            _ => Ok(()),
        }
    }

    /// Under the lock: is there work, and if not, until when to sleep.
    fn look(&mut self, who: usize) {
        let number = who as u32 + 1;
        if self.waiting().keeps_time(number) {
            self.waiting().stop_alarm();
        }
        self.tend(&[]);
        let wants = self.wants[who].clone();
        let (jobs, paused, now) = (self.jobs.clone(), self.paused.clone(), self.now);
        let has_work = |queue| has_work(&jobs, &paused, queue);
        let is_to_claim = self
            .waiting()
            .is_to_claim(number, &wants, false, now, has_work);
        if is_to_claim {
            self.workers[who] = Worker::Called;
            return;
        }
        if self.waiting().keeps_time(number) && self.due.0 <= self.now {
            let (now, queue) = (self.now, self.due.1);
            self.waiting().note_alarm(now);
            self.due = (NEVER, 1);
            self.add(queue, 1);
            return self.look(who);
        }
        self.waiting().lie_down(number, &wants, true);
        self.tend(&[]);
        let until = match self.waiting().keeps_time(number) {
            true => self.waiting().alarm(),
            false => NEVER,
        };
        self.workers[who] = Worker::Asleep { until, rung: false };
    }

    fn claim(&mut self, who: usize) {
        let wants = self.wants[who].clone();
        let mut queues = 1..self.jobs.len();
        let found = queues.find(|&queue| {
            self.has_work(queue as u64)
                && (wants == [EVERY_QUEUE] || wants.contains(&(queue as u64)))
        });
        if let Some(queue) = found {
            self.jobs[queue] -= 1;
        }
        let place = self.place_of_claim(who);
        self.waiting().get_up(place);
        self.workers[who] = Worker::Away;
        self.tend(&[]);
    }

    /// Through a pooler a claim may come from another process than that which was woken; from none that sleeps.
    fn place_of_claim(&mut self, who: usize) -> u32 {
        let any = self.rng.random_range(0..5 * self.workers.len());
        match self.workers.get(any) {
            Some(Worker::Away | Worker::Called) => any as u32 + 1,
            _ => who as u32 + 1,
        }
    }

    fn has_work(&self, queue: u64) -> bool {
        has_work(&self.jobs, &self.paused, queue)
    }

    fn waiting(&mut self) -> Waiting<'_> {
        Waiting {
            night: &mut self.night,
            sleepers: &mut self.sleepers,
            watched: &mut self.watched,
        }
    }

    fn tend(&mut self, work: &[(u64, u32)]) {
        let (now, due) = (self.now, self.due.0);
        let (jobs, paused) = (self.jobs.clone(), self.paused.clone());
        let mut rung = Vec::new();
        let has_work = |queue| has_work(&jobs, &paused, queue);
        self.waiting()
            .tend(now, work, due, has_work, |who| rung.push(who));
        for who in rung {
            if let Worker::Asleep { rung, .. } = &mut self.workers[who as usize - 1] {
                *rung = true;
            }
        }
    }

    fn matches(&self, who: usize, queue: u64) -> bool {
        self.wants[who].contains(&queue) || self.wants[who] == [EVERY_QUEUE]
    }

    /// Where a queue has work and somebody sleeps on, somebody is under way, or the keeper will look.
    fn check_rule(&mut self) -> Result<(), String> {
        for queue in (1..self.jobs.len() as u64).filter(|&queue| self.has_work(queue)) {
            let mut sleepers = (0..self.workers.len()).filter(|&who| {
                self.matches(who, queue)
                    && matches!(self.workers[who], Worker::Asleep { rung: false, .. })
            });
            let Some(sleeper) = sleepers.next() else {
                continue;
            };
            let soon = self.now + 2 * PATIENCE;
            let is_under_way = self.workers.iter().any(|worker| match worker {
                Worker::Away => false,
                Worker::Called => true,
                Worker::Asleep { until, rung } => *rung || *until <= soon,
            });
            if !is_under_way {
                return Err(format!(
                    "queue {queue} has work and worker {sleeper} sleeps on"
                ));
            }
        }
        Ok(())
    }

    /// Nobody comes to work of his own accord any more, those who are called do not claim; only who is
    /// woken from now on does. All that can be claimed must be claimed while somebody sleeps.
    fn settle_down(&mut self) -> Result<(), String> {
        for worker in &mut self.workers {
            if *worker == Worker::Called {
                *worker = Worker::Away;
            }
        }
        for _ in 0..100_000 {
            let ready = |worker: &Worker| match worker {
                Worker::Away => false,
                Worker::Called => true,
                Worker::Asleep { until, rung } => *rung || *until <= self.now,
            };
            if let Some(who) = self.workers.iter().position(ready) {
                self.act(who)?;
                continue;
            }
            let times = self.workers.iter().filter_map(|worker| match worker {
                Worker::Asleep { until, .. } => Some(*until),
                _ => None,
            });
            match times.min() {
                Some(until) if until != NEVER => self.now = until,
                _ => return self.check_settled(),
            }
        }
        Err("the night does not settle down".into())
    }

    fn check_settled(&mut self) -> Result<(), String> {
        for who in 0..self.workers.len() {
            if self.workers[who] == Worker::Away {
                continue;
            }
            let mut queues = 1..self.jobs.len() as u64;
            if queues.any(|queue| self.matches(who, queue) && self.has_work(queue)) {
                return Err(format!(
                    "worker {who} sleeps beside work: a wake-up was lost"
                ));
            }
            if self.due.0 != NEVER {
                return Err("somebody sleeps through an event".into());
            }
        }
        self.check_economy()
    }

    /// With everybody's calls over, n jobs wake n sleepers and no more.
    fn check_economy(&mut self) -> Result<(), String> {
        self.now += PATIENCE;
        self.tend(&[]);
        let queue = self.any_queue();
        if self.paused[queue] || self.jobs[queue] > 0 {
            return Ok(());
        }
        let waiting = (0..self.workers.len())
            .filter(|&who| self.workers[who] != Worker::Away && self.matches(who, queue as u64));
        let asleep = waiting.count();
        let jobs = self.rng.random_range(1..=12);
        self.add(queue, jobs);
        let is_rung = |worker: &Worker| matches!(worker, Worker::Asleep { rung: true, .. });
        while let Some(who) = self.workers.iter().position(is_rung) {
            self.look(who);
        }
        let wanted = asleep.min(jobs as usize);
        let called = self
            .workers
            .iter()
            .filter(|&worker| *worker == Worker::Called);
        match called.count() {
            number if number == wanted => Ok(()),
            number => Err(format!("{jobs} jobs woke {number} of {asleep}")),
        }
    }
}

fn has_work(jobs: &[u32], paused: &[bool], queue: u64) -> bool {
    match queue {
        EVERY_QUEUE => (1..jobs.len() as u64).any(|queue| has_work(jobs, paused, queue)),
        queue => jobs[queue as usize] > 0 && !paused[queue as usize],
    }
}
