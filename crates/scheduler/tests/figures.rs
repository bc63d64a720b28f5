//! Figures against a model that knows each job.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::HashMap;
use turnstile_scheduler::figures::{
    Bin, Change, Event, FigureArray, FigurePools, Figures, FiguresHeader, FiguresMemory, KINDS,
    Labels, Name, State, Stats, Text, Trust,
};
use turnstile_scheduler::{GateKind, LaneSpec};

const SECOND: i64 = 1_000_000;
const BEGIN: i64 = 800_000_000 * SECOND;

struct Arrays {
    header: FiguresHeader,
    pools: FigurePools,
    names: Vec<Name>,
    name_buckets: Vec<u32>,
    texts: Vec<Text>,
    bins: Vec<Bin>,
    stats: Vec<Stats>,
    running: Vec<u32>,
}

impl Arrays {
    fn of(names: usize, bins: usize) -> Self {
        Self {
            header: FiguresHeader::default(),
            pools: FigurePools::default(),
            names: vec![Name::default(); names],
            name_buckets: vec![0; FigureArray::Names.buckets(names)],
            texts: vec![Text::default(); 2 * names],
            bins: vec![Bin::default(); bins],
            stats: vec![Stats::default(); names],
            running: vec![0; 8],
        }
    }

    fn open(&mut self) -> Figures<'_> {
        Figures::new(FiguresMemory {
            header: &mut self.header,
            pools: &mut self.pools,
            names: &mut self.names,
            name_buckets: &mut self.name_buckets,
            texts: &mut self.texts,
            bins: &mut self.bins,
            stats: &mut self.stats,
            running: &mut self.running,
        })
    }
}

fn key(kind: usize, nth: u64) -> u64 {
    (kind as u64 + 1) * 1_000_003 + nth
}

/// Keys and what they are called.
fn lane(queue: u64, tenant: Option<u64>) -> (LaneSpec, Change) {
    let mut spec = LaneSpec {
        lane: 1 + queue * 100 + tenant.unwrap_or(99),
        ..LaneSpec::default()
    };
    *spec.key_mut(GateKind::Queue) = key(0, queue);
    if let Some(tenant) = tenant {
        *spec.key_mut(GateKind::Tenant) = key(1, tenant);
        *spec.key_mut(GateKind::Account) = key(2, tenant);
    }
    let names = [
        Some("q".repeat(1 + 10 * queue as usize)),
        tenant.map(|it| format!("tenant {it}")),
        tenant.map(|it| format!("account {it}")),
        None,
    ];
    let change = Change {
        labels: Some(Labels::of(names.each_ref().map(Option::as_deref))),
        ..Change::default()
    };
    (spec, change)
}

#[derive(Clone, Copy)]
struct Job {
    queue: u64,
    tenant: Option<u64>,
    due: i64,
    runs: bool,
}

fn counts(jobs: &[Job], mut is_of: impl FnMut(&Job) -> bool) -> ([i64; 4], Option<i64>) {
    let mut states = [0; 4];
    let mut oldest = None;
    for job in jobs {
        if is_of(job) {
            states[if job.runs {
                State::Running
            } else {
                State::Available
            } as usize] += 1;
            if !job.runs {
                oldest = Some(oldest.map_or(job.due, |it: i64| it.min(job.due)));
            }
        }
    }
    (states, oldest)
}

fn agree(figures: &Figures, jobs: &[Job], now: i64) {
    let mut seen = 0;
    for name in figures.view(GateKind::Queue, now).unwrap() {
        let queue = name.name.len() as u64 / 10;
        assert_eq!(name.key, key(0, queue));
        let (states, oldest) = counts(jobs, |job| job.queue == queue);
        assert_eq!(name.states.unwrap(), states);
        agrees_within_a_quarter(name.waiting_since, oldest, now);
        seen += states.iter().sum::<i64>();
    }
    assert_eq!(seen, jobs.len() as i64);
    for name in figures.view(GateKind::Account, now).unwrap() {
        let scope = name.scope.unwrap();
        let tenant: u64 = scope.strip_prefix("tenant ").unwrap().parse().unwrap();
        assert_eq!(*name.name, format!("account {tenant}"));
        let (states, oldest) = counts(jobs, |job| job.tenant == Some(tenant));
        assert_eq!(name.states.unwrap(), states);
        agrees_within_a_quarter(name.waiting_since, oldest, now);
    }
}

fn agrees_within_a_quarter(found: Option<i64>, exact: Option<i64>, now: i64) {
    assert_eq!(found.is_some(), exact.is_some());
    if let (Some(found), Some(exact)) = (found, exact) {
        let (found, exact) = ((now - found) / SECOND, (now - exact) / SECOND);
        assert!(found >= exact - 1, "{found} s instead of {exact} s");
        assert!(found * 3 <= exact * 4 + 8, "{found} s instead of {exact} s");
    }
}

#[test]
fn figures_are_those_of_the_jobs() {
    for seed in 0..40 {
        let mut random = SmallRng::seed_from_u64(seed);
        let mut arrays = Arrays::of(64, 20_000);
        let mut jobs: Vec<Job> = Vec::new();
        let mut now = BEGIN;
        let mut figures = arrays.open();
        let mut commits: HashMap<u64, u32> = HashMap::new();
        let generation = figures.begin_count((1, Vec::new())).unwrap();
        figures.end_count(generation);
        for id in 1..3_000 {
            now += random.random_range(0..20) * SECOND;
            let (queue, tenant) = (random.random_range(0..5), random.random_bool(0.7));
            let tenant = tenant.then(|| random.random_range(0..6));
            match random.random_range(0..10) {
                0..5 => {
                    let due =
                        now - random.random_range(0..2_000) * SECOND * random.random_range(0..2);
                    let (spec, mut change) = lane(queue, tenant);
                    change.add(State::Available, 1);
                    change.note(Event::Enqueued);
                    change.arrived.push(due);
                    figures.commit(id, &spec, &change, now).unwrap();
                    *commits.entry(queue).or_default() += 1;
                    jobs.push(Job {
                        queue,
                        tenant,
                        due,
                        runs: false,
                    });
                }
                5..8 if !jobs.is_empty() => {
                    let nth = random.random_range(0..jobs.len());
                    let job = &mut jobs[nth];
                    if !job.runs {
                        let (spec, mut change) = lane(job.queue, job.tenant);
                        change.add(State::Available, -1);
                        change.add(State::Running, 1);
                        change.left.push(job.due);
                        change.note(Event::Started);
                        change.waited.push(now - job.due);
                        figures.commit(id, &spec, &change, now).unwrap();
                        job.runs = true;
                    }
                }
                8 if !jobs.is_empty() => {
                    let job = jobs.swap_remove(random.random_range(0..jobs.len()));
                    let (spec, mut change) = lane(job.queue, job.tenant);
                    match job.runs {
                        true => change.add(State::Running, -1),
                        false => {
                            change.add(State::Available, -1);
                            change.left.push(job.due);
                        }
                    }
                    figures.commit(id, &spec, &change, now).unwrap();
                }
                _ if id % 100 == 0 => count(&mut figures, &jobs, id, now, &mut random),
                _ => {}
            }
            if id % 50 == 0 {
                agree(&figures, &jobs, now);
            }
        }
        for name in figures.view(GateKind::Queue, now).unwrap() {
            let queue = name.name.len() as u64 / 10;
            let stats = name.stats.unwrap();
            assert_eq!(
                stats.events[Event::Enqueued as usize],
                u64::from(commits[&queue])
            );
            assert_eq!(stats.events[Event::Started as usize], stats.waited.count());
        }
        assert_eq!(figures.trust(), Trust::Counted);
    }
}

/// Jobs are counted in any order, while some come and go that the count has seen, and others that it has not.
fn count(figures: &mut Figures, jobs: &[Job], id: u64, now: i64, random: &mut SmallRng) {
    let generation = figures.begin_count((id + 1, Vec::new())).unwrap();
    let mut order: Vec<&Job> = jobs.iter().collect();
    for nth in 0..order.len() {
        order.swap(nth, random.random_range(nth..jobs.len()));
    }
    for (nth, job) in order.into_iter().enumerate() {
        let (spec, mut change) = lane(job.queue, job.tenant);
        if nth % 7 == 0 {
            // Seen by the count.
            let mut seen = change.clone();
            seen.add(State::Available, 1);
            figures.commit(id, &spec, &seen, now).unwrap();
        }
        change.add(
            if job.runs {
                State::Running
            } else {
                State::Available
            },
            1,
        );
        if !job.runs {
            change.arrived.push(job.due);
        }
        assert!(figures.count(generation, &spec, &change, now).unwrap());
    }
    figures.end_count(generation);
}

#[test]
fn a_backlog_of_any_age_takes_few_intervals() {
    let mut arrays = Arrays::of(8, 2_000);
    let mut figures = arrays.open();
    let generation = figures.begin_count((1, Vec::new())).unwrap();
    figures.end_count(generation);
    let mut now = BEGIN;
    for id in 1..1_000_000 {
        now += SECOND * 3;
        let (spec, mut change) = lane(0, None);
        change.add(State::Available, 1);
        change.arrived.push(now);
        figures.commit(id, &spec, &change, now).unwrap();
    }
    assert!(
        figures.left(FigureArray::Bins) > 1_800,
        "{}",
        figures.left(FigureArray::Bins)
    );
    let name = &figures.view(GateKind::Queue, now).unwrap()[0];
    assert_eq!(name.states.unwrap()[0], 999_999);
    assert_eq!(name.waiting_since, Some(BEGIN + 3 * SECOND));
}

#[test]
fn idle_names_are_forgotten_and_new_ones_get_statistics() {
    let mut arrays = Arrays::of(4_000, 100);
    let mut figures = arrays.open();
    let generation = figures.begin_count((1, Vec::new())).unwrap();
    figures.end_count(generation);
    for tenant in 0..100_000 {
        let now = BEGIN + tenant as i64 * SECOND;
        let (spec, mut change) = lane(0, Some(tenant));
        change.note(Event::Enqueued);
        change.note(Event::Started);
        figures.commit(tenant + 1, &spec, &change, now).unwrap();
    }
    let now = BEGIN + 100_000 * SECOND;
    let tenants = figures.view(GateKind::Tenant, now).unwrap();
    assert_eq!(tenants.len(), 1_000);
    assert!(tenants.iter().any(|it| &*it.name == "tenant 99999"));
    let left = figures.left(FigureArray::Names);
    assert!(left > 1_000, "{left}");
    figures.reset_stats(now).unwrap();
    assert!(figures.view(GateKind::Tenant, now).unwrap().is_empty());
    assert_eq!(figures.left(FigureArray::Stats), 3_999);
    assert_eq!(KINDS.len(), 4);
}
