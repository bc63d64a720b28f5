//! Random transactions that change jobs, counts of the jobs in the middle of them, and a naive model that knows each job.

pub mod arena;
mod names;

use arena::{Arrays, all};
pub use names::lane;
use names::text;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::{BTreeMap, HashMap};
use turnstile_scheduler::figures::{
    Change, EVENTS, Event, FigureArray, Figures, Id, KINDS, STATES, State, Trust,
};
use turnstile_scheduler::{GateKind, LaneSpec};

pub const SECOND: i64 = 1_000_000;
pub const BEGIN: i64 = 800_000_000 * SECOND;
const QUEUES: u64 = 4;
const TENANTS: u64 = 6;
const BATCH: usize = 3;
const MOST_OPEN: usize = 6;

pub type Outcomes<T> = Result<T, String>;

#[derive(Clone, Copy, Debug)]
struct Job {
    queue: u64,
    tenant: Option<u64>,
    due: i64,
    runs: bool,
}

/// What an open transaction does to one job.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Add(Job),
    Start(u64),
    End(u64),
}

struct Open {
    id: u64,
    deed: Deed,
}

/// A count that is under way.
struct Counting {
    generation: u64,
    left: Vec<Job>,
}

#[derive(Default)]
struct Truth {
    states: [i64; STATES],
    oldest: Option<i64>,
}

struct Model {
    rng: SmallRng,
    now: i64,
    next_id: u64,
    next_job: u64,
    jobs: BTreeMap<u64, Job>,
    open: Vec<Open>,
    /// Others see what these have done, and the figures do not yet.
    unheard: Vec<(u64, LaneSpec, Change)>,
    counting: Option<Counting>,
    /// By key.
    events: HashMap<u64, [u64; EVENTS]>,
}

impl Model {
    fn begin(&mut self) {
        let is_taken = |open: &Open, job: u64| match open.deed {
            Deed::Start(other) | Deed::End(other) => other == job,
            Deed::Add(_) => false,
        };
        let free = |job: &u64| !self.open.iter().any(|open| is_taken(open, *job));
        let free: Vec<u64> = self.jobs.keys().copied().filter(free).collect();
        let chosen = match free.is_empty() {
            true => None,
            false => Some(free[self.rng.random_range(0..free.len())]),
        };
        let deed = match chosen {
            Some(job) if self.rng.random_bool(0.55) => match self.jobs[&job].runs {
                true => Deed::End(job),
                false if self.rng.random_bool(0.2) => Deed::End(job),
                false => Deed::Start(job),
            },
            _ => Deed::Add(self.new_job()),
        };
        self.open.push(Open {
            id: self.next_id,
            deed,
        });
        self.next_id += 1;
    }

    fn new_job(&mut self) -> Job {
        let has_tenant = self.rng.random_bool(0.7);
        let late = self.rng.random_range(0..2_000) * SECOND * self.rng.random_range(0..2);
        Job {
            queue: self.rng.random_range(0..QUEUES),
            tenant: has_tenant.then(|| self.rng.random_range(0..TENANTS)),
            due: self.now - late,
            runs: false,
        }
    }

    /// The end of a transaction as other transactions see it.
    fn end_in_table(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let nth = self.rng.random_range(0..self.open.len());
        let Open { id, deed } = self.open.swap_remove(nth);
        if self.rng.random_bool(0.2) {
            return;
        }
        let (spec, change) = self.perform(deed);
        for kind in [GateKind::Queue, GateKind::Tenant] {
            let events = self.events.entry(spec.key_of(kind)).or_default();
            for (sum, more) in events.iter_mut().zip(change.events) {
                *sum += u64::from(more);
            }
        }
        self.unheard.push((id, spec, change));
    }

    fn perform(&mut self, deed: Deed) -> (LaneSpec, Change) {
        let job = match deed {
            Deed::Add(job) => {
                self.jobs.insert(self.next_job, job);
                self.next_job += 1;
                job
            }
            Deed::Start(id) => {
                let job = self.jobs.get_mut(&id).unwrap();
                job.runs = true;
                *job
            }
            Deed::End(id) => self.jobs.remove(&id).unwrap(),
        };
        let (spec, mut change) = lane(job.queue, job.tenant);
        match deed {
            Deed::Add(_) => {
                change.add(State::Available, 1);
                change.arrived.add(job.due, 1);
                change.note(Event::Enqueued);
            }
            Deed::Start(_) => {
                change.add(State::Available, -1);
                change.left.add(job.due, 1);
                change.add(State::Running, 1);
                change.note(Event::Started);
                change.waited.push(self.now - job.due);
            }
            Deed::End(_) if job.runs => {
                change.add(State::Running, -1);
                change.note(Event::Completed);
                change.ran.push(SECOND);
            }
            Deed::End(_) => {
                change.add(State::Available, -1);
                change.left.add(job.due, 1);
                change.note(Event::Cancelled);
            }
        }
        (spec, change)
    }

    fn hear(&mut self, figures: &mut Figures) {
        if self.unheard.is_empty() {
            return;
        }
        let nth = self.rng.random_range(0..self.unheard.len());
        let (id, spec, change) = self.unheard.swap_remove(nth);
        figures
            .commit(id, &spec, &change, self.now, |_| false)
            .unwrap();
    }

    fn begin_count(&mut self, figures: &mut Figures) {
        let running: Vec<u32> = self.open.iter().map(|open| open.id as u32).collect();
        let generation = figures.begin_count((self.next_id, running)).unwrap();
        let mut left: Vec<Job> = self.jobs.values().copied().collect();
        for nth in 0..left.len() {
            let other = self.rng.random_range(nth..left.len());
            left.swap(nth, other);
        }
        let before = self.counting.replace(Counting { generation, left });
        // One that has been overtaken goes on for a while.
        if let Some(mut before) = before {
            self.count_some(figures, &mut before);
        }
    }

    fn count_some(&self, figures: &mut Figures, counting: &mut Counting) {
        for _ in 0..BATCH {
            if let Some(job) = counting.left.pop() {
                let (spec, mut change) = lane(job.queue, job.tenant);
                match job.runs {
                    true => change.add(State::Running, 1),
                    false => {
                        change.add(State::Available, 1);
                        change.arrived.add(job.due, 1);
                    }
                }
                figures
                    .count(counting.generation, &spec, &change, self.now)
                    .unwrap();
            }
        }
    }

    fn go_on_counting(&mut self, figures: &mut Figures) {
        let Some(mut counting) = self.counting.take() else {
            return;
        };
        self.count_some(figures, &mut counting);
        match counting.left.is_empty() {
            true => figures.end_count(counting.generation),
            false if self.rng.random_bool(0.01) => figures.give_up_count(counting.generation),
            false => self.counting = Some(counting),
        }
    }

    fn truths(&self) -> HashMap<(usize, u64), Truth> {
        let mut truths: HashMap<(usize, u64), Truth> = HashMap::new();
        for job in self.jobs.values() {
            let (spec, _) = lane(job.queue, job.tenant);
            for (nth, kind) in KINDS.into_iter().enumerate() {
                if spec.key_of(kind) == 0 {
                    continue;
                }
                let truth = truths.entry((nth, spec.key_of(kind))).or_default();
                match job.runs {
                    true => truth.states[State::Running as usize] += 1,
                    false => {
                        truth.states[State::Available as usize] += 1;
                        truth.oldest = Some(truth.oldest.map_or(job.due, |it| it.min(job.due)));
                    }
                }
            }
        }
        truths
    }

    fn check(&self, figures: &Figures) -> Outcomes<()> {
        self.check_events(figures)?;
        let is_quiet = self.unheard.is_empty() && figures.trust() == Trust::Counted;
        match is_quiet {
            true => self.check_states(figures),
            false => Ok(()),
        }
    }

    fn check_states(&self, figures: &Figures) -> Outcomes<()> {
        let truths = self.truths();
        let numbers = figures.numbers().ok_or("no numbers")?;
        let known: HashMap<Id, [i64; STATES]> = numbers.states.iter().copied().collect();
        for (nth, kind) in KINDS.into_iter().enumerate() {
            for (&(_, key), truth) in truths.iter().filter(|((of, _), _)| *of == nth) {
                let is_missing = !known.contains_key(&Id { kind, key });
                if is_missing && numbers.whole.contains(&kind) {
                    return Err(format!("{kind:?} {key} is missing: {:?}", truth.states));
                }
            }
            for (id, states) in known.iter().filter(|(id, _)| id.kind == kind) {
                let truth = truths
                    .get(&(nth, id.key))
                    .map_or([0; STATES], |it| it.states);
                if *states != truth {
                    return Err(format!("{id:?} has {states:?} instead of {truth:?}"));
                }
            }
            for view in all(figures, kind, self.now) {
                let oldest = truths.get(&(nth, view.key)).and_then(|it| it.oldest);
                self.check_age(view.waiting_since, oldest)?;
                if *view.name != *text(kind, view.key) {
                    return Err(format!("{kind:?} {} is called {}", view.key, view.name));
                }
            }
        }
        Ok(())
    }

    /// To within a quarter; while a count is under way, intervals may come to be empty that have jobs.
    fn check_age(&self, found: Option<i64>, exact: Option<i64>) -> Outcomes<()> {
        let age = |time: i64| (self.now - time) / SECOND;
        match (found.map(age), exact.map(age)) {
            (None, None) => Ok(()),
            (Some(found), Some(exact))
                if found * 4 + 8 >= exact * 3 && found * 3 <= exact * 4 + 8 =>
            {
                Ok(())
            }
            (found, exact) => Err(format!("waits {found:?} s instead of {exact:?} s")),
        }
    }

    /// Of those for which there is room.
    fn check_events(&self, figures: &Figures) -> Outcomes<()> {
        let mut events = self.events.clone();
        for (_, spec, change) in &self.unheard {
            for kind in [GateKind::Queue, GateKind::Tenant] {
                let events = events.entry(spec.key_of(kind)).or_default();
                for (sum, more) in events.iter_mut().zip(change.events) {
                    *sum -= u64::from(more);
                }
            }
        }
        for kind in [GateKind::Queue, GateKind::Tenant] {
            let views = all(figures, kind, self.now);
            let with_events = events.iter().filter(|(key, events)| {
                **key != 0 && is_of(kind, **key) && **events != [0; EVENTS]
            });
            for (key, events) in with_events {
                let view = views.iter().find(|view| view.key == *key);
                let found = view.and_then(|view| view.stats.as_ref());
                let found = found.map(|stats| (stats.events, stats.waited.count()));
                if found != Some((*events, events[Event::Started as usize])) {
                    return Err(format!("{kind:?} {key}: {found:?} instead of {events:?}"));
                }
            }
        }
        Ok(())
    }
}

fn is_of(kind: GateKind, key: u64) -> bool {
    KINDS.get((key / 1_000_003) as usize - 1) == Some(&kind)
}

pub fn run(seed: u64, steps: u64) -> Outcomes<()> {
    let mut arrays = Arrays::of(64, 20_000);
    let mut figures = arrays.open();
    let mut model = Model {
        rng: SmallRng::seed_from_u64(seed),
        now: BEGIN,
        next_id: 3,
        next_job: 1,
        jobs: BTreeMap::new(),
        open: Vec::new(),
        unheard: Vec::new(),
        counting: None,
        events: HashMap::new(),
    };
    model.begin_count(&mut figures);
    for _ in 0..steps {
        model.now += model.rng.random_range(0..10) * SECOND;
        match model.rng.random_range(0..100) {
            0..25 if model.open.len() < MOST_OPEN => model.begin(),
            25..50 => model.end_in_table(),
            50..80 => model.hear(&mut figures),
            80..98 => model.go_on_counting(&mut figures),
            98 => model.begin_count(&mut figures),
            99 if figures.trust() == Trust::None => model.begin_count(&mut figures),
            _ => {}
        }
        model
            .check(&figures)
            .map_err(|error| format!("seed {seed}: {error}"))?;
    }
    match figures.left(FigureArray::Names) > 0 {
        true => Ok(()),
        false => Err("names are not forgotten".into()),
    }
}
