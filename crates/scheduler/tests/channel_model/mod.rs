//! A model of a server in which jobs come and go, listeners claim until they find nothing, and a notifier that may die at
//! any time tells them of work.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use turnstile_scheduler::EVERY_QUEUE;
use turnstile_scheduler::times::NEVER;
use turnstile_scheduler::waiting::Channels;

const NOTIFIER: u32 = 7;

/// A client that claims from one queue, or from all, and listens to its channel.
#[derive(Clone, Debug)]
struct Listener {
    queue: u64,
    /// A claim of this client has found nothing, and it waits to be told.
    is_waiting: bool,
    /// Notifications of its queue were switched on all the while that the claim took.
    is_armed: bool,
    /// A notification has reached it.
    told: bool,
}

/// Where the process is that sends notifications.
#[derive(Clone, Debug, PartialEq)]
enum Notifier {
    Dead,
    Asleep {
        until: i64,
        called: bool,
    },
    Sending {
        queues: Vec<u64>,
        until: i64,
        called: bool,
    },
}

struct World {
    rng: SmallRng,
    now: i64,
    channels: Channels,
    notifier: Notifier,
    listeners: Vec<Listener>,
    /// Jobs that can be claimed, by queue from 1 on; a paused queue keeps its own.
    jobs: Vec<u32>,
    paused: Vec<bool>,
    /// Whether the queue's listeners are to be told, in the tables; 0: those of all queues.
    on: Vec<bool>,
    /// When a job falls due, and in which queue; a claim makes it available.
    due: (i64, usize),
    sent: u32,
    /// Nothing new happens any more: what was begun comes to its end.
    is_calm: bool,
}

pub fn run(seed: u64, steps: u64) -> Result<(), String> {
    let mut world = World::new(seed);
    for step in 0..steps {
        let outcome = match step % 250 {
            249 => world.settle_down(),
            _ => world.step(),
        };
        world.is_calm = false;
        outcome.map_err(|error| format!("seed {seed}, step {step}: {error}"))?;
    }
    Ok(())
}

impl World {
    fn new(seed: u64) -> Self {
        let mut rng = SmallRng::seed_from_u64(seed);
        let queues = rng.random_range(1..=4);
        let listeners = rng.random_range(1..=6);
        let mut listener = || Listener {
            queue: rng.random_range(EVERY_QUEUE..=queues as u64),
            is_waiting: false,
            is_armed: false,
            told: false,
        };
        let listeners: Vec<_> = (0..listeners).map(|_| listener()).collect();
        let mut channels = Channels::default();
        for listener in &listeners {
            assert!(channels.listen(listener.queue, 0) && channels.listen(listener.queue, 0));
        }
        Self {
            rng,
            now: 1_000_000,
            channels,
            notifier: Notifier::Dead,
            listeners,
            jobs: vec![0; queues + 1],
            paused: vec![false; queues + 1],
            on: vec![true; queues + 1],
            due: (NEVER, 1),
            sent: 0,
            is_calm: false,
        }
    }

    fn step(&mut self) -> Result<(), String> {
        let who = self.rng.random_range(0..self.listeners.len());
        match self.rng.random_range(0..100) {
            0..12 => self.commit(),
            12..15 => self.pause_or_resume(),
            15..17 => self.switch_setting(),
            17..20 => self.schedule(),
            20..30 => self.now += self.rng.random_range(0..20_000),
            30..33 => self.notifier = Notifier::Dead,
            33..40 => self.claim_elsewhere(),
            40..65 => self.notify(),
            _ => self.listen(who),
        }
        self.check_rule()
    }

    fn any_queue(&mut self) -> usize {
        self.rng.random_range(1..self.jobs.len())
    }

    fn commit(&mut self) {
        let queue = self.any_queue();
        self.jobs[queue] += [1, 1, 1, 2, 10][self.rng.random_range(0..5)];
        self.notify_as_needed();
    }

    fn pause_or_resume(&mut self) {
        let queue = self.any_queue();
        self.paused[queue] = !self.paused[queue];
        self.notify_as_needed();
    }

    fn switch_setting(&mut self) {
        let queue = self.rng.random_range(0..self.on.len());
        self.on[queue] = !self.on[queue];
        self.channels.forget_settings();
        self.notify_as_needed();
    }

    fn schedule(&mut self) {
        if self.due.0 == NEVER {
            let time = self.now + self.rng.random_range(0..200_000);
            self.due = (time, self.any_queue());
            self.notify_as_needed();
        }
    }

    /// A worker that does not listen.
    fn claim_elsewhere(&mut self) {
        let queue = self.any_queue();
        if self.has_work(queue as u64) {
            self.jobs[queue] -= 1;
        }
        self.notify_as_needed();
    }

    /// What a listener does next if nothing comes between: a claim, unless it waits and was not told.
    fn listen(&mut self, who: usize) {
        let Listener {
            queue,
            is_waiting,
            told,
            ..
        } = self.listeners[who];
        if is_waiting && !told {
            return;
        }
        self.listeners[who].told = false;
        self.promote();
        let mut queues = 1..self.jobs.len();
        let found = queues.find(|&each| {
            (queue == EVERY_QUEUE || queue == each as u64) && self.has_work(each as u64)
        });
        match found {
            Some(found) => self.jobs[found] -= 1,
            None => self.listeners[who].is_armed = self.arm(queue),
        }
        self.listeners[who].is_waiting = found.is_none();
        self.notify_as_needed();
    }

    fn promote(&mut self) {
        if self.due.0 <= self.now {
            self.jobs[self.due.1] += 1;
            self.due = (NEVER, 1);
            self.notify_as_needed();
        }
    }

    /// The settings may change after they were read and before they are stored. A listener on all queues has
    /// to see all switched on here, to be sure of its own.
    fn arm(&mut self, queue: u64) -> bool {
        let mut is_on = true;
        while let Some(unread) = self.channels.arm(queue) {
            let found = self.on[unread.queue as usize];
            if !self.is_calm && self.rng.random_bool(0.1) {
                self.switch_setting();
                is_on = false;
            }
            self.channels.store_setting(unread, found);
        }
        is_on && self.on[queue as usize]
    }

    fn notify(&mut self) {
        match self.notifier.clone() {
            Notifier::Dead => {
                self.channels.start_notifier(NOTIFIER);
                self.look();
            }
            Notifier::Asleep { until, called } if called || until <= self.now => self.look(),
            Notifier::Asleep { .. } => {}
            Notifier::Sending { queues, until, .. } => self.send(&queues, until),
        }
    }

    fn look(&mut self) {
        self.channels.clear_alarm();
        self.notify_as_needed();
        let (now, due) = (self.now, self.due.0);
        let mut queues = Vec::new();
        let until = self
            .channels
            .take_owed(now, due, NEVER, |queue| queues.push(queue));
        self.notifier = Notifier::Sending {
            queues,
            until,
            called: false,
        };
    }

    /// Notifications reach the listeners at the commit. The notifier may die between that and noting that
    /// they were sent.
    fn send(&mut self, queues: &[u64], until: i64) {
        for queue in queues {
            self.sent += 1;
            for listener in &mut self.listeners {
                listener.told |= listener.queue == *queue;
            }
        }
        let who = self.rng.random_range(0..self.listeners.len());
        match self.rng.random_range(0..10) {
            0 => return self.notifier = Notifier::Dead,
            1..6 => self.listen(who),
            _ => {}
        }
        self.channels.mark_sent();
        // A process that called the notifier while it was busy has set its latch.
        let called = matches!(self.notifier, Notifier::Sending { called: true, .. });
        self.notifier = Notifier::Asleep { until, called };
        self.notify_as_needed();
    }

    fn has_work(&self, queue: u64) -> bool {
        has_work(&self.jobs, &self.paused, queue)
    }

    fn notify_as_needed(&mut self) {
        let mut is_called = false;
        let (jobs, paused) = (&self.jobs, &self.paused);
        self.channels.notify_as_needed(
            self.due.0,
            NEVER,
            |queue| has_work(jobs, paused, queue),
            |_| is_called = true,
        );
        if let Notifier::Asleep { called, .. } | Notifier::Sending { called, .. } =
            &mut self.notifier
        {
            *called |= is_called;
        }
    }

    /// Where a listener waits beside work and was not told, the notifier has to be on its way.
    fn check_rule(&self) -> Result<(), String> {
        let is_late = |who: &&Listener| {
            who.is_waiting && who.is_armed && !who.told && self.has_work(who.queue)
        };
        let is_idle =
            matches!(self.notifier, Notifier::Asleep { until, called: false } if until > self.now);
        match self.listeners.iter().find(is_late) {
            Some(who) if is_idle => Err(format!(
                "{who:?} waits beside work, and the notifier was not called"
            )),
            _ => Ok(()),
        }
    }

    /// Once all that was begun has come to its end, no listener may be left waiting beside work.
    fn settle_down(&mut self) -> Result<(), String> {
        self.is_calm = true;
        if !self.on.iter().all(|on| *on) {
            self.on.fill(true);
            self.channels.forget_settings();
        }
        // A listener that waits since before its queue was switched on has armed nothing.
        for listener in self.listeners.iter_mut().filter(|who| !who.is_armed) {
            listener.told = true;
        }
        for _ in 0..100_000 {
            if let Some(who) = self
                .listeners
                .iter()
                .position(|who| !who.is_waiting || who.told)
            {
                self.listen(who);
                continue;
            }
            match self.notifier {
                Notifier::Asleep {
                    until,
                    called: false,
                } if until > self.now => match until {
                    NEVER => return self.check_settled(),
                    until => self.now = until,
                },
                _ => self.notify(),
            }
        }
        Err("the notifier does not settle down".into())
    }

    fn check_settled(&mut self) -> Result<(), String> {
        if let Some(who) = self.listeners.iter().find(|who| self.has_work(who.queue)) {
            return Err(format!("{who:?} waits beside work for ever"));
        }
        if self.due.0 != NEVER {
            return Err("all listeners wait past an event".into());
        }
        self.check_economy()
    }

    /// However much is committed, each channel is told once for each time that a claim found nothing.
    fn check_economy(&mut self) -> Result<(), String> {
        self.paused.fill(false);
        let before = self.sent;
        for _ in 0..10 {
            self.commit();
            self.notify_faithfully();
        }
        let mut channels: Vec<u64> = self.listeners.iter().map(|who| who.queue).collect();
        channels.sort_unstable();
        channels.dedup();
        match self.sent - before {
            sent if sent as usize <= channels.len() => Ok(()),
            sent => Err(format!(
                "{sent} notifications for {} channels",
                channels.len()
            )),
        }
    }

    fn notify_faithfully(&mut self) {
        self.channels.clear_alarm();
        self.notify_as_needed();
        let (now, due) = (self.now, self.due.0);
        let mut queues = Vec::new();
        let until = self
            .channels
            .take_owed(now, due, NEVER, |queue| queues.push(queue));
        for queue in queues {
            self.sent += 1;
            for listener in &mut self.listeners {
                listener.told |= listener.queue == queue;
            }
        }
        self.channels.mark_sent();
        self.notifier = Notifier::Asleep {
            until,
            called: false,
        };
    }
}

fn has_work(jobs: &[u32], paused: &[bool], queue: u64) -> bool {
    match queue {
        EVERY_QUEUE => (1..jobs.len() as u64).any(|queue| has_work(jobs, paused, queue)),
        queue => jobs[queue as usize] > 0 && !paused[queue as usize],
    }
}
