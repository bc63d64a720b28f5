//! Random transactions that change jobs, counts of the jobs in the middle of them, and a naive model that knows each job.

pub mod arena;
mod batches;
mod deeds;
mod names;

use arena::{Arrays, all};
use batches::Batches;
use deeds::{Deed, Job};
use names::text;
#[allow(unused_imports, reason = "the seeded faults need no lanes")]
pub use names::{lane, lane_in_batch};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::{BTreeMap, HashMap};
use turnstile_scheduler::figures::{
    Change, EVENTS, Event, FigureArray, Figures, Id, KINDS, STATES, State, Trust,
};
pub use turnstile_scheduler::times::SECOND;
use turnstile_scheduler::{GateKind, LaneSpec};

pub const BEGIN: i64 = 800_000_000 * SECOND;
const QUEUES: u64 = 4;
const COUNTED_AT_ONCE: usize = 3;
const MOST_OPEN: usize = 6;

/// What has numbers of jobs.
const COUNTED: [GateKind; 5] = [
    GateKind::Queue,
    GateKind::Tenant,
    GateKind::Account,
    GateKind::Concurrency,
    GateKind::Batch,
];

pub type Outcomes<T> = Result<T, String>;

struct Open {
    id: u64,
    deeds: Vec<Deed>,
}

/// Others see what it has done, and the figures do not yet.
struct Unheard {
    id: u64,
    changes: Vec<(LaneSpec, Change)>,
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
    unheard: Vec<Unheard>,
    counting: Option<Counting>,
    /// By key.
    events: HashMap<u64, [u64; EVENTS]>,
    batches: Batches,
    /// Some names may find no room.
    is_tight: bool,
    /// Commits are heard in the order in which they were made, and nothing is counted but in the beginning.
    is_orderly: bool,
    tenants: u64,
}

impl Model {
    /// The changes of a commit are told lane by lane, in any order.
    fn hear(&mut self, figures: &mut Figures) -> Outcomes<()> {
        if self.unheard.is_empty() {
            return Ok(());
        }
        let nth = match self.rng.random_range(0..3) {
            _ if self.is_orderly => 0,
            0 => self.rng.random_range(0..self.unheard.len()),
            _ => self.unheard.len() - 1,
        };
        let Unheard { id, mut changes } = self.unheard.remove(nth);
        while !changes.is_empty() {
            let nth = self.rng.random_range(0..changes.len());
            let (spec, change) = changes.swap_remove(nth);
            figures
                .commit(id, &spec, &change, self.now, |_| false)
                .map_err(|fault| format!("{fault:?}"))?;
            let rest = changes.iter().map(|(spec, _)| spec);
            let is_last = !rest.clone().any(|other| other.batch == spec.batch);
            self.look_after_batch(figures, &spec, &change, is_last)?;
        }
        Ok(())
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
        for _ in 0..COUNTED_AT_ONCE {
            if let Some(job) = counting.left.pop() {
                let (spec, mut change) = job.lane();
                job.comes(&mut change);
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
            let (spec, _) = job.lane();
            for (nth, kind) in COUNTED.into_iter().enumerate() {
                if spec.key_of(kind) == 0 {
                    continue;
                }
                let truth = truths.entry((nth, spec.key_of(kind))).or_default();
                truth.states[job.state as usize] += 1;
                if job.state == State::Available {
                    truth.oldest = Some(truth.oldest.map_or(job.due, |it| it.min(job.due)));
                }
            }
        }
        truths
    }

    fn step(&mut self, figures: &mut Figures) -> Outcomes<()> {
        self.now += self.rng.random_range(0..10) * SECOND;
        match self.rng.random_range(0..100) {
            0..25 if self.open.len() < MOST_OPEN => self.begin(),
            25..50 => self.end_in_table(),
            50..79 => self.hear(figures)?,
            79 if !self.is_orderly => figures.make_up_for_overflow(),
            80..98 => self.go_on_counting(figures),
            98 if !self.is_orderly => self.begin_count(figures),
            99 if figures.trust() == Trust::None => self.begin_count(figures),
            _ => {}
        }
        self.check(figures)
    }

    fn check(&self, figures: &Figures) -> Outcomes<()> {
        if !self.is_tight {
            self.check_events(figures)?;
        }
        self.check_batches(figures)?;
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
        for (nth, kind) in COUNTED.into_iter().enumerate() {
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
                // Since when the jobs of a batch wait is not kept.
                if kind != GateKind::Batch {
                    let oldest = truths.get(&(nth, view.key)).and_then(|it| it.oldest);
                    self.check_age(view.waiting_since, oldest)?;
                }
                if *view.name != *text(kind, view.key) {
                    return Err(format!("{kind:?} {} is called {}", view.key, view.name));
                }
            }
        }
        Ok(())
    }

    /// To within a quarter; where jobs are heard to go before they are heard to come, to within a half.
    fn check_age(&self, found: Option<i64>, exact: Option<i64>) -> Outcomes<()> {
        let age = |time: i64| (self.now - time) / SECOND;
        let (less, more) = if self.is_orderly { (3, 4) } else { (1, 2) };
        match (found.map(age), exact.map(age)) {
            (None, None) => Ok(()),
            (Some(found), Some(exact))
                if found * more + 8 >= exact * less && found * less <= exact * more + 8 =>
            {
                Ok(())
            }
            (found, exact) => Err(format!("waits {found:?} s instead of {exact:?} s")),
        }
    }

    /// Of those for which there is room.
    fn check_events(&self, figures: &Figures) -> Outcomes<()> {
        let mut events = self.events.clone();
        for (spec, change) in self.unheard.iter().flat_map(|it| &it.changes) {
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
    let mut rng = SmallRng::seed_from_u64(seed);
    let (is_tight, is_orderly) = (rng.random_bool(0.3), rng.random_bool(0.4));
    let tenants = if rng.random_bool(0.5) { 6 } else { 40 };
    let names = if is_tight { 24 } else { 256 };
    let mut arrays = Arrays::of(names, 20_000);
    let mut figures = arrays.open();
    let mut model = Model {
        rng,
        now: BEGIN,
        next_id: 3,
        next_job: 1,
        jobs: BTreeMap::new(),
        open: Vec::new(),
        unheard: Vec::new(),
        counting: None,
        events: HashMap::new(),
        batches: Batches::default(),
        is_tight,
        is_orderly,
        tenants,
    };
    model.begin_count(&mut figures);
    if is_orderly {
        model.go_on_counting(&mut figures);
    }
    for _ in 0..steps {
        let outcome = model.step(&mut figures);
        outcome.map_err(|error| format!("seed {seed}: {error}"))?;
    }
    match is_tight || figures.left(FigureArray::Names) > 0 {
        true => Ok(()),
        false => Err("names are not forgotten".into()),
    }
}
