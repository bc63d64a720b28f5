//! What the scheduler's own steps cost, without a server: everything here happens under its lock.
//!
//! Run it with `make bench-scheduler`.

#![allow(clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[allow(dead_code)]
#[path = "../../tests/world/arena.rs"]
mod arena;
mod footprint;
mod load;
mod shape;

use arena::Arena;
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, SamplingMode};
use load::{Load, Part};
use shape::SHAPES;
use std::time::Duration;
use turnstile_scheduler::probes::capacity_for;

/// What the tests' arena names its faults with.
type Checked<T = ()> = Result<T, String>;

const SIZES: [usize; 3] = [1_000, 100_000, 1_000_000];
const REBUILT: usize = 1_000_000;

fn steps(criterion: &mut Criterion) {
    for shape in SHAPES {
        for lanes in SIZES {
            let mut arena = Arena::new(capacity_for(lanes));
            let mut load = Load::new(&mut arena, shape, lanes);
            for part in Part::ALL {
                let mut group = group(criterion, part.name());
                group.bench_function(BenchmarkId::new(shape.name, lanes), |bencher| {
                    bencher.iter_custom(|steps| load.time(part, steps));
                });
            }
        }
    }
}

fn rebuilds(criterion: &mut Criterion) {
    for shape in SHAPES.into_iter().filter(|shape| shape.goes_on) {
        let mut arena = Arena::new(capacity_for(REBUILT));
        let mut scheduler = arena.scheduler();
        let lanes = shape.lanes(REBUILT);
        let mut group = group(criterion, "rebuild, all lanes");
        group.sample_size(10).sampling_mode(SamplingMode::Flat);
        group.bench_function(BenchmarkId::new(shape.name, REBUILT), |bencher| {
            bencher.iter(|| load::rebuild(&mut scheduler, &lanes));
        });
    }
}

fn group<'c>(criterion: &'c mut Criterion, name: &str) -> BenchmarkGroup<'c, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    group
}

fn main() {
    footprint::print();
    let mut criterion = Criterion::default().configure_from_args();
    steps(&mut criterion);
    rebuilds(&mut criterion);
    criterion.final_summary();
}
