//! What transactions do to jobs.

use super::names::lane_in_batch;
use super::{Model, Open, QUEUES, SECOND, Unheard};
use rand::Rng;
use std::collections::BTreeMap;
use turnstile_scheduler::figures::{Change, Event, State};
use turnstile_scheduler::{GateKind, LaneSpec};

/// Beyond these, more end than begin.
const MANY_JOBS: usize = 30;
const MOST_DEEDS: usize = 3;

/// Jobs that are available have ages. Those that come to batches wait in other states, since batches have none.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    queue: u64,
    tenant: Option<u64>,
    /// 0: none.
    pub batch: u64,
    pub due: i64,
    pub state: State,
    is_aged: bool,
}

/// What an open transaction does to one job.
#[derive(Clone, Copy, Debug)]
pub enum Deed {
    Add(Job),
    Start(u64),
    /// It waits for others.
    Block(u64),
    Unblock(u64),
    Move(u64, u64),
    /// Without an event, it is deleted.
    End(u64, Option<Event>),
    ComeAndGo(Job, Option<Event>),
}

impl Job {
    pub fn lane(&self) -> (LaneSpec, Change) {
        lane_in_batch(self.queue, self.tenant, self.batch)
    }

    pub fn comes(&self, change: &mut Change) {
        change.add(self.state, 1);
        if self.state == State::Available {
            change.arrived.add(self.due, 1);
        }
    }

    fn goes(&self, change: &mut Change) {
        change.add(self.state, -1);
        if self.state == State::Available {
            change.left.add(self.due, 1);
        }
    }
}

impl Deed {
    fn job(&self) -> Option<u64> {
        match *self {
            Deed::Add(_) | Deed::ComeAndGo(..) => None,
            Deed::Start(job) | Deed::Block(job) | Deed::Unblock(job) => Some(job),
            Deed::Move(job, _) | Deed::End(job, _) => Some(job),
        }
    }
}

/// What a transaction has changed, by lane.
#[derive(Default)]
struct Changes(BTreeMap<u64, (LaneSpec, Change)>);

impl Changes {
    fn of(&mut self, job: &Job, note: impl FnOnce(&mut Change)) {
        let (spec, mut change) = job.lane();
        note(&mut change);
        let (_, all) = self.0.entry(spec.lane).or_insert((spec, Change::default()));
        all.absorb(change);
    }
}

impl Model {
    /// Most transactions change one job. What is behind a batch comes together in any way.
    pub fn begin(&mut self) {
        let mut deeds = Vec::new();
        match self.rng.random_bool(0.5) {
            true => deeds.push(self.any_deed_alone()),
            false => {
                for _ in 0..self.rng.random_range(1..=MOST_DEEDS) {
                    let deed = self.any_deed_in_batch(&deeds);
                    deeds.push(deed);
                }
            }
        }
        self.open.push(Open {
            id: self.next_id,
            deeds,
        });
        self.next_id += 1;
    }

    /// A job that no open transaction has locked.
    fn any_job(&mut self, own: &[Deed], is_wanted: impl Fn(&Job) -> bool) -> Option<(u64, State)> {
        let others = self.open.iter().flat_map(|open| &open.deeds);
        let taken: Vec<u64> = others.chain(own).filter_map(Deed::job).collect();
        let free = self.jobs.iter().filter(|(_, job)| is_wanted(job));
        let free = free.filter(|(id, _)| !taken.contains(id));
        let free: Vec<(u64, State)> = free.map(|(&id, job)| (id, job.state)).collect();
        match free.len() {
            0 => None,
            count => Some(free[self.rng.random_range(0..count)]),
        }
    }

    fn any_deed_alone(&mut self) -> Deed {
        match self.any_job(&[], |job| job.is_aged) {
            Some((job, state)) if self.rng.random_bool(0.55) => match state {
                State::Running => Deed::End(job, Some(Event::Completed)),
                _ if self.rng.random_bool(0.2) => Deed::End(job, Some(Event::Cancelled)),
                _ => Deed::Start(job),
            },
            _ => Deed::Add(self.new_job()),
        }
    }

    fn any_deed_in_batch(&mut self, own: &[Deed]) -> Deed {
        let is_crowded = self.jobs.values().filter(|job| !job.is_aged).count() > MANY_JOBS;
        let is_new = self.rng.random_bool(if is_crowded { 0.15 } else { 0.4 });
        match self.any_job(own, |job| !job.is_aged) {
            Some((job, state)) if !is_new => match (state, self.rng.random_range(0..10)) {
                (_, 0) => Deed::Move(job, self.any_batch()),
                (State::Blocked, 1..6) => Deed::Unblock(job),
                (State::Scheduled, 1..7) => Deed::Start(job),
                (State::Scheduled | State::Running, 7) => Deed::Block(job),
                _ => Deed::End(job, self.any_end()),
            },
            _ => {
                let job = self.new_job_in_batch();
                match self.rng.random_bool(0.2) {
                    true => Deed::ComeAndGo(job, self.any_end()),
                    false => Deed::Add(job),
                }
            }
        }
    }

    fn any_end(&mut self) -> Option<Event> {
        let ends = [Event::Completed, Event::Cancelled, Event::Discarded];
        ends.get(self.rng.random_range(0..8) / 2).copied()
    }

    fn new_job(&mut self) -> Job {
        let has_tenant = self.rng.random_bool(0.7);
        let late = self.rng.random_range(0..2_000) * SECOND * self.rng.random_range(0..2);
        Job {
            queue: self.rng.random_range(0..QUEUES),
            tenant: has_tenant.then(|| self.rng.random_range(0..self.tenants)),
            batch: 0,
            due: self.now - late,
            state: State::Available,
            is_aged: true,
        }
    }

    fn new_job_in_batch(&mut self) -> Job {
        Job {
            batch: self.any_batch(),
            state: match self.rng.random_bool(0.2) {
                true => State::Blocked,
                false => State::Scheduled,
            },
            is_aged: false,
            ..self.new_job()
        }
    }

    /// The end of a transaction as other transactions see it.
    pub fn end_in_table(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let nth = self.rng.random_range(0..self.open.len());
        let Open { id, deeds } = self.open.swap_remove(nth);
        if self.rng.random_bool(0.2) {
            return;
        }
        let mut changes = Changes::default();
        for deed in deeds {
            self.perform(deed, &mut changes);
        }
        let changes: Vec<(LaneSpec, Change)> = changes.0.into_values().collect();
        for (spec, change) in &changes {
            for kind in [GateKind::Queue, GateKind::Tenant] {
                let events = self.events.entry(spec.key_of(kind)).or_default();
                for (sum, more) in events.iter_mut().zip(change.events) {
                    *sum += u64::from(more);
                }
            }
            self.note_whether_batch_is_empty(spec.batch);
        }
        self.unheard.push(Unheard { id, changes });
    }

    fn perform(&mut self, deed: Deed, changes: &mut Changes) {
        let before = deed.job().map(|id| self.jobs[&id]);
        let (id, after) = self.outcome(deed, before);
        if let Some(job) = before {
            changes.of(&job, |change| job.goes(change));
        }
        if let Some(job) = after {
            self.jobs.insert(id, job);
            changes.of(&job, |change| job.comes(change));
        } else {
            self.jobs.remove(&id);
        }
        match (deed, before) {
            (Deed::Add(job), _) => changes.of(&job, |it| it.note(Event::Enqueued)),
            (Deed::ComeAndGo(job, event), _) => changes.of(&job, |it| {
                job.comes(it);
                job.goes(it);
                event.into_iter().for_each(|event| it.note(event));
            }),
            (Deed::Start(_), Some(job)) => changes.of(&job, |it| {
                it.note(Event::Started);
                it.waited.push(self.now - job.due);
            }),
            (Deed::End(_, event), Some(job)) => changes.of(&job, |it| {
                event.into_iter().for_each(|event| it.note(event));
                if job.state == State::Running {
                    it.ran.push(SECOND);
                }
            }),
            _ => {}
        }
    }

    /// What becomes of a job.
    fn outcome(&mut self, deed: Deed, before: Option<Job>) -> (u64, Option<Job>) {
        let with_state = |state| before.map(|job| Job { state, ..job });
        match deed {
            Deed::Add(job) => {
                self.next_job += 1;
                (self.next_job, Some(job))
            }
            Deed::ComeAndGo(..) => (0, None),
            Deed::Start(id) => (id, with_state(State::Running)),
            Deed::Block(id) => (id, with_state(State::Blocked)),
            Deed::Unblock(id) => (id, with_state(State::Scheduled)),
            Deed::Move(id, batch) => (id, before.map(|job| Job { batch, ..job })),
            Deed::End(id, _) => (id, None),
        }
    }
}
