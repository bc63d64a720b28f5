//! Figures against a model that knows each job.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod figures_model;
mod random;

use figures_model::arena::{Arrays, all};
use figures_model::{BEGIN, SECOND, lane, lane_in_batch};
use random::run_seeds;
use std::cell::Cell;
use turnstile_scheduler::GateKind;
use turnstile_scheduler::figures::{Event, FigureArray, Figures, Id, State, Trust};

#[test]
fn figures_are_those_of_the_jobs() {
    run_seeds(40_000, 2_000, figures_model::run);
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
        change.arrived.add(now, 1);
        figures.commit(id, &spec, &change, now, |_| false).unwrap();
    }
    assert!(
        figures.left(FigureArray::Bins) > 1_800,
        "{}",
        figures.left(FigureArray::Bins)
    );
    let name = &all(&figures, GateKind::Queue, now)[0];
    assert_eq!(name.states.unwrap()[0], 999_999);
    assert_eq!(name.waiting_since, Some(BEGIN + 3 * SECOND));
}

#[test]
fn idle_names_are_forgotten_and_new_ones_get_statistics() {
    let mut arrays = Arrays::of(4_000, 100);
    let mut figures = arrays.open();
    let generation = figures.begin_count((1, Vec::new())).unwrap();
    figures.end_count(generation);
    // The first has a row of settings.
    let first = |id: Id| id.kind == GateKind::Tenant && id.key == lane(0, Some(0)).0.tenant;
    for tenant in 0..100_000 {
        let now = BEGIN + tenant as i64 * SECOND;
        let (spec, mut change) = lane(0, Some(tenant));
        change.note(Event::Enqueued);
        change.note(Event::Started);
        figures
            .commit(tenant + 1, &spec, &change, now, first)
            .unwrap();
    }
    let now = BEGIN + 100_000 * SECOND;
    let tenants = all(&figures, GateKind::Tenant, now);
    assert_eq!(tenants.len(), 1_000);
    for kept in [0, 99_999] {
        let (spec, _) = lane(0, Some(kept));
        assert!(tenants.iter().any(|it| it.key == spec.tenant));
    }
    let left = figures.left(FigureArray::Names);
    assert!(left > 1_000, "{left}");
    figures.reset_stats(now).unwrap();
    let later = now + 100 * SECOND;
    assert!(all(&figures, GateKind::Tenant, later).is_empty());
    assert_eq!(figures.left(FigureArray::Stats), 3_999);
}

/// More tenants than there are statistics for.
const CROWD: u64 = 1_500;

#[test]
fn tenants_that_are_equally_active_keep_their_statistics() {
    let mut arrays = Arrays::of(4_000, 100);
    let mut figures = arrays.open();
    let mut now = BEGIN;
    for round in 0..5 {
        for tenant in 0..CROWD {
            now += SECOND / 100;
            start(&mut figures, round * CROWD + tenant, tenant, now);
        }
    }
    let tenants = all(&figures, GateKind::Tenant, now);
    let starts = tenants.iter().filter_map(|it| it.stats.as_ref());
    let starts: Vec<u64> = starts
        .map(|stats| stats.events[Event::Started as usize])
        .collect();
    assert_eq!(starts, [5; 1_000]);
}

#[test]
fn a_tenant_that_is_far_more_active_than_others_gets_statistics() {
    let mut arrays = Arrays::of(4_000, 100);
    let mut figures = arrays.open();
    for tenant in 0..CROWD {
        start(&mut figures, tenant, tenant, BEGIN);
    }
    let late = lane(0, Some(CROWD)).0.tenant;
    for nth in 0..5 {
        start(&mut figures, CROWD + nth, CROWD, BEGIN);
    }
    let tenants = all(&figures, GateKind::Tenant, BEGIN);
    let late = tenants.iter().find(|it| it.key == late).unwrap();
    assert!(late.stats.is_some());
}

/// Where nobody gives way, few of the commits look at others; one that becomes idle is found all the same.
#[test]
fn tenants_that_find_no_statistics_seldom_look_for_them() {
    for has_row in [false, true] {
        let mut arrays = Arrays::of(4_000, 100);
        let mut figures = arrays.open();
        let (looks, mut now) = (Cell::new(0), BEGIN);
        let mut commit = |id: u64, now: i64| {
            let (spec, mut change) = lane(0, Some(id % CROWD));
            change.note(Event::Started);
            let counted = |other: Id| {
                looks.set(looks.get() + u64::from(other.key != spec.tenant));
                has_row
            };
            figures.commit(id, &spec, &change, now, counted).unwrap();
        };
        for id in 0..10 * CROWD {
            now += SECOND / 5_000;
            commit(id, now);
        }
        let found = looks.get();
        assert!(found < 4 * CROWD, "{found}");
        if has_row {
            continue;
        }
        // Most of them have ended: the last goes on alone.
        for nth in 0..2_000 {
            now += SECOND / 10;
            commit(nth * CROWD + CROWD - 1, now);
        }
        let last = lane(0, Some(CROWD - 1)).0.tenant;
        let tenants = all(&figures, GateKind::Tenant, now);
        let last = tenants.iter().find(|it| it.key == last).unwrap();
        assert!(last.stats.is_some());
    }
}

fn start(figures: &mut Figures, id: u64, tenant: u64, now: i64) {
    let (spec, mut change) = lane(0, Some(tenant));
    change.note(Event::Started);
    figures.commit(id, &spec, &change, now, |_| false).unwrap();
}

/// Where a job goes before it is known to have come, there are no jobs for a moment, but one waits.
#[test]
fn no_name_is_forgotten_between_two_commits_in_the_wrong_order() {
    let mut arrays = Arrays::of(8, 8);
    let mut figures = arrays.open();
    let generation = figures.begin_count((1, Vec::new())).unwrap();
    figures.end_count(generation);
    let mut commit = |jobs: i32, due: i64| {
        let (spec, mut change) = lane(0, None);
        change.add(State::Available, jobs);
        match jobs {
            1 => change.arrived.add(due, 1),
            _ => change.left.add(due, 1),
        }
        let now = BEGIN + 1_000 * SECOND;
        figures.commit(0, &spec, &change, now, |_| false).unwrap();
        all(&figures, GateKind::Queue, now).pop()
    };
    commit(1, BEGIN);
    commit(-1, BEGIN + 500 * SECOND);
    let seen = commit(1, BEGIN + 500 * SECOND).unwrap();
    assert_eq!(seen.waiting_since, Some(BEGIN));
    assert!(commit(-1, BEGIN).is_none_or(|it| it.waiting_since.is_none()));
}

#[test]
fn batches_that_find_no_room_are_not_known_and_take_none_from_others() {
    let mut arrays = Arrays::of(8, 8);
    let mut figures = arrays.open();
    let generation = figures.begin_count((1, Vec::new())).unwrap();
    figures.end_count(generation);
    for batch in 1..100 {
        let (spec, mut change) = lane_in_batch(0, None, batch);
        change.add(State::Scheduled, 1);
        figures.commit(0, &spec, &change, BEGIN, |_| false).unwrap();
    }
    assert_eq!(figures.live_in_batch(1), Some(1));
    assert_eq!(figures.live_in_batch(99), None);
    assert!(figures.is_whole(GateKind::Queue));
    assert!(figures.lack().slots(FigureArray::Names) > 8);
    let (spec, mut change) = lane_in_batch(0, None, 99);
    change.add(State::Scheduled, -1);
    figures.commit(0, &spec, &change, BEGIN, |_| false).unwrap();
    assert!(figures.may_be_decided(&spec, &change));
}

/// A view is read in parts, and each name is in one of them.
#[test]
fn a_view_in_parts_has_all_names() {
    let mut arrays = Arrays::of(8_000, 8);
    let mut figures = arrays.open();
    let generation = figures.begin_count((1, Vec::new())).unwrap();
    figures.end_count(generation);
    for tenant in 0..3_500 {
        let (spec, mut change) = lane(0, Some(tenant));
        change.add(State::Running, 1);
        figures
            .commit(tenant + 1, &spec, &change, BEGIN, |_| false)
            .unwrap();
    }
    let mut names: Vec<_> = all(&figures, GateKind::Tenant, BEGIN);
    names.sort_unstable_by_key(|name| name.key);
    names.dedup_by_key(|name| name.key);
    assert_eq!(names.len(), 3_500);
}

/// Where names or since when their jobs wait find no room, that is known, and made up for when there is some.
#[test]
fn what_has_no_room_is_known_to_be_missing() {
    let mut arrays = Arrays::of(40, 8);
    let mut figures = arrays.open();
    let generation = figures.begin_count((1, Vec::new())).unwrap();
    figures.end_count(generation);
    assert!(figures.is_whole(GateKind::Queue));
    let (spec, mut jobs) = lane(0, None);
    for nth in 0..20 {
        jobs.add(State::Available, 1);
        jobs.arrived.add(BEGIN + nth * 10 * SECOND, 1);
    }
    let now = BEGIN + 200 * SECOND;
    figures.commit(1, &spec, &jobs, now, |_| false).unwrap();
    let name = &all(&figures, GateKind::Queue, now)[0];
    assert_eq!((name.states.unwrap()[0], name.waiting_since), (20, None));
    assert!(!figures.is_whole(GateKind::Queue));
    assert!(figures.lack().slots(FigureArray::Bins) > 8);
    assert_eq!(figures.lack().slots(FigureArray::Names), 0);
    figures.make_up_for_overflow();
    assert_eq!(
        figures.trust(),
        Trust::Counted,
        "there is no more room than before"
    );
}

/// Where there is no memory for more, too.
#[test]
fn tenants_do_not_keep_a_queue_from_having_statistics() {
    let mut arrays = Arrays::with_stats(100, 8, 8);
    let mut figures = arrays.open();
    let mut enqueue = |queue, tenant| {
        let (spec, mut change) = lane(queue, Some(tenant));
        change.note(Event::Enqueued);
        figures.commit(0, &spec, &change, BEGIN, |_| false).unwrap();
    };
    for tenant in 0..20 {
        enqueue(0, tenant);
    }
    enqueue(1, 0);
    for queue in [0, 1] {
        let key = lane(queue, None).0.queue;
        let views = all(&figures, GateKind::Queue, BEGIN);
        let stats = views
            .into_iter()
            .find(|name| name.key == key)
            .unwrap()
            .stats;
        let expected = if queue == 0 { 20 } else { 1 };
        assert_eq!(stats.unwrap().events[Event::Enqueued as usize], expected);
    }
}
