//! A model of a server in which jobs come and go and workers wait: only what the rule of wake-ups needs.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use turnstile_scheduler::EVERY_QUEUE;
use turnstile_scheduler::times::NEVER;
use turnstile_scheduler::waiting::{
    MAX_QUEUES, WAKE_UP_TIMEOUT, WaitLists, WaitedQueue, Waiter, Waiting,
};

/// What a worker does, as a naive observer sees it.
#[derive(Clone, Debug, PartialEq)]
enum Worker {
    /// Busy with something else.
    Busy,
    /// In the call that waits, until that time or until it is woken.
    Waiting { until: i64, woken: bool },
    /// Back from that call, about to claim.
    Woken,
}

struct World {
    rng: SmallRng,
    now: i64,
    lists: WaitLists,
    waiters: Vec<Waiter>,
    waited_queues: Vec<WaitedQueue>,
    workers: Vec<Worker>,
    wants: Vec<Vec<u64>>,
    /// Jobs that can be claimed, by queue; a paused queue keeps its own.
    jobs: Vec<u32>,
    paused: Vec<bool>,
    /// When something is due. Then a job appears in the queue, if a process looks.
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
            lists: WaitLists::default(),
            waiters: vec![Waiter::EMPTY; workers],
            waited_queues: vec![WaitedQueue::default(); workers * MAX_QUEUES],
            workers: vec![Worker::Busy; workers],
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
            16..18 => self.schedule(),
            18..40 => self.pass_time(self.now + 20_000),
            40..43 => self.end_process(who),
            43..46 if self.workers[who] == Worker::Woken => self.workers[who] = Worker::Busy,
            _ => self.act(who)?,
        }
        self.check_rule()
    }

    /// What a worker does next if nothing comes between.
    fn act(&mut self, who: usize) -> Result<(), String> {
        match self.workers[who].clone() {
            Worker::Busy => return self.begin_to_wait(who),
            Worker::Waiting { until, woken } if woken || until <= self.now => self.look(who),
            Worker::Waiting { .. } => {}
            Worker::Woken => self.claim(who),
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
        self.wake_as_needed(&[(queue as u64, number)]);
    }

    fn pause_or_resume(&mut self) {
        let queue = self.any_queue();
        self.paused[queue] = !self.paused[queue];
        self.wake_as_needed(&[]);
    }

    fn schedule(&mut self) {
        if self.due.0 == NEVER {
            self.due = (
                self.now + self.rng.random_range(0..200_000),
                self.any_queue(),
            );
            self.wake_as_needed(&[]);
        }
    }

    fn pass_time(&mut self, at_most: i64) {
        self.now = self.rng.random_range(self.now..=at_most);
    }

    /// Cancelled, terminated, or disconnected: another worker, which is busy, takes the place of a dead one.
    fn end_process(&mut self, who: usize) {
        self.waiting().stop_waiting(who as u32 + 1);
        self.workers[who] = Worker::Busy;
        self.wake_as_needed(&[]);
    }

    /// A worker that comes finds what can be claimed, whichever other was woken for it.
    fn begin_to_wait(&mut self, who: usize) -> Result<(), String> {
        let queues = self.jobs.len() as u64;
        let mut wants: Vec<u64> = (1..queues).filter(|_| self.rng.random_bool(0.4)).collect();
        if wants.is_empty() || self.rng.random_bool(0.1) {
            wants = vec![EVERY_QUEUE];
        }
        self.wants[who] = wants.clone();
        self.look(who);
        let is_called = self.workers[who] == Worker::Woken;
        match wants.iter().find(|&&queue| self.has_work(queue)) {
            Some(queue) if !is_called => Err(format!(
                "worker {who} waits although queue {queue} has work"
            )),
            _ => Ok(()),
        }
    }

    /// Under the lock: is there work, and if not, until when to wait.
    fn look(&mut self, who: usize) {
        let number = who as u32 + 1;
        if self.waiting().is_timekeeper(number) {
            self.waiting().clear_alarm();
        }
        self.wake_as_needed(&[]);
        let wants = self.wants[who].clone();
        let (jobs, paused, now) = (self.jobs.clone(), self.paused.clone(), self.now);
        let has_work = |queue| has_work(&jobs, &paused, queue);
        let should_claim = self
            .waiting()
            .should_claim(number, &wants, false, now, has_work);
        if should_claim {
            self.workers[who] = Worker::Woken;
            return;
        }
        if self.waiting().is_timekeeper(number) && self.due.0 <= self.now {
            let (now, queue) = (self.now, self.due.1);
            self.waiting().note_alarm_fired(now);
            self.due = (NEVER, 1);
            self.add(queue, 1);
            return self.look(who);
        }
        self.waiting().start_waiting(number, &wants, true);
        self.wake_as_needed(&[]);
        let until = match self.waiting().is_timekeeper(number) {
            true => self.waiting().alarm(),
            false => NEVER,
        };
        self.workers[who] = Worker::Waiting {
            until,
            woken: false,
        };
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
        self.waiting().stop_waiting(place);
        self.workers[who] = Worker::Busy;
        self.wake_as_needed(&[]);
    }

    /// Through a pooler, a claim may come from another process than the one that was woken, but from none
    /// that waits.
    fn place_of_claim(&mut self, who: usize) -> u32 {
        let any = self.rng.random_range(0..5 * self.workers.len());
        match self.workers.get(any) {
            Some(Worker::Busy | Worker::Woken) => any as u32 + 1,
            _ => who as u32 + 1,
        }
    }

    fn has_work(&self, queue: u64) -> bool {
        has_work(&self.jobs, &self.paused, queue)
    }

    fn waiting(&mut self) -> Waiting<'_> {
        Waiting {
            lists: &mut self.lists,
            waiters: &mut self.waiters,
            waited_queues: &mut self.waited_queues,
        }
    }

    fn wake_as_needed(&mut self, work: &[(u64, u32)]) {
        let (now, due) = (self.now, self.due.0);
        let (jobs, paused) = (self.jobs.clone(), self.paused.clone());
        let mut woken = Vec::new();
        let has_work = |queue| has_work(&jobs, &paused, queue);
        self.waiting()
            .wake_as_needed(now, work, due, has_work, |who| woken.push(who));
        for who in woken {
            if let Worker::Waiting { woken, .. } = &mut self.workers[who as usize - 1] {
                *woken = true;
            }
        }
    }

    fn matches(&self, who: usize, queue: u64) -> bool {
        self.wants[who].contains(&queue) || self.wants[who] == [EVERY_QUEUE]
    }

    /// Where a queue has work and a process keeps waiting, another was woken, or the timekeeper will look.
    fn check_rule(&mut self) -> Result<(), String> {
        for queue in (1..self.jobs.len() as u64).filter(|&queue| self.has_work(queue)) {
            let mut waiters = (0..self.workers.len()).filter(|&who| {
                self.matches(who, queue)
                    && matches!(self.workers[who], Worker::Waiting { woken: false, .. })
            });
            let Some(sleeper) = waiters.next() else {
                continue;
            };
            let soon = self.now + 2 * WAKE_UP_TIMEOUT;
            let is_under_way = self.workers.iter().any(|worker| match worker {
                Worker::Busy => false,
                Worker::Woken => true,
                Worker::Waiting { until, woken } => *woken || *until <= soon,
            });
            if !is_under_way {
                return Err(format!(
                    "queue {queue} has work and worker {sleeper} keeps waiting"
                ));
            }
        }
        Ok(())
    }

    /// No worker comes by itself any more, and those that were woken do not claim. Only workers that are
    /// woken from now on do. All that can be claimed must be claimed while a process waits.
    fn settle_down(&mut self) -> Result<(), String> {
        for worker in &mut self.workers {
            if *worker == Worker::Woken {
                *worker = Worker::Busy;
            }
        }
        for _ in 0..100_000 {
            let ready = |worker: &Worker| match worker {
                Worker::Busy => false,
                Worker::Woken => true,
                Worker::Waiting { until, woken } => *woken || *until <= self.now,
            };
            if let Some(who) = self.workers.iter().position(ready) {
                self.act(who)?;
                continue;
            }
            let times = self.workers.iter().filter_map(|worker| match worker {
                Worker::Waiting { until, .. } => Some(*until),
                _ => None,
            });
            match times.min() {
                Some(until) if until != NEVER => self.now = until,
                _ => return self.check_settled(),
            }
        }
        Err("the workers do not settle down".into())
    }

    fn check_settled(&mut self) -> Result<(), String> {
        for who in 0..self.workers.len() {
            if self.workers[who] == Worker::Busy {
                continue;
            }
            let mut queues = 1..self.jobs.len() as u64;
            if queues.any(|queue| self.matches(who, queue) && self.has_work(queue)) {
                return Err(format!(
                    "worker {who} waits beside work: a wake-up was lost"
                ));
            }
            if self.due.0 != NEVER {
                return Err("a worker waits past an event".into());
            }
        }
        self.check_economy()
    }

    /// When all earlier wake-ups are over, n jobs wake n waiting processes and no more.
    fn check_economy(&mut self) -> Result<(), String> {
        self.now += WAKE_UP_TIMEOUT;
        self.wake_as_needed(&[]);
        let queue = self.any_queue();
        if self.paused[queue] || self.jobs[queue] > 0 {
            return Ok(());
        }
        let waiting = (0..self.workers.len())
            .filter(|&who| self.workers[who] != Worker::Busy && self.matches(who, queue as u64));
        let asleep = waiting.count();
        let jobs = self.rng.random_range(1..=12);
        self.add(queue, jobs);
        let is_woken = |worker: &Worker| matches!(worker, Worker::Waiting { woken: true, .. });
        while let Some(who) = self.workers.iter().position(is_woken) {
            self.look(who);
        }
        let wanted = asleep.min(jobs as usize);
        let called = self
            .workers
            .iter()
            .filter(|&worker| *worker == Worker::Woken);
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
