//! Random operations in random order, each as the server may send it: nothing panics, every invariant holds
//! after each, a fault is reported where one was asked for and nowhere else.

#![no_main]

// Each target uses a part of it.
#[allow(dead_code)]
#[path = "../../crates/scheduler/tests/world/arena.rs"]
mod arena;
#[allow(dead_code)]
mod input;
mod model;

use input::Input;
use libfuzzer_sys::fuzz_target;
use model::{Claim, Model, Phase};
use turnstile_scheduler::probes::Probes;
use turnstile_scheduler::{
    Array, Capacity, Credit, GateKind, GateSettings, LaneKey, Limit, Outcome, Pick, ReservationId,
    UnknownGate,
};

#[allow(dead_code)]
type Checked<T = ()> = Result<T, String>;

fuzz_target!(|bytes: &[u8]| {
    let mut input = Input(bytes);
    let mut model = Model::new();
    while let Some(operation) = input.next() {
        match model.phase {
            Phase::Stale => while_stale(&mut model, operation, &mut input),
            _ => any(&mut model, operation, &mut input),
        }
        model.check();
    }
});

fn any(model: &mut Model, operation: u8, input: &mut Input) {
    match operation % 32 {
        0..6 => {
            let (spec, position) = (input.spec(), input.position());
            model.sound(|scheduler| scheduler.lower(&spec, position));
        }
        6 => {
            let (spec, position) = (input.spec(), input.position());
            model.sound(|scheduler| scheduler.withdraw(&spec, position));
        }
        7 => {
            let (spec, count) = (input.spec(), u32::from(input.byte() % 4));
            if model
                .sound(|scheduler| scheduler.hold(&spec, count))
                .is_some()
            {
                model.count(&spec, count.into());
            }
        }
        8 => release(model, input),
        9..15 => pick(model, input),
        15..20 => settle(model, input),
        20 | 21 => end(model, input, End::Commit),
        22 => end(model, input, End::CommitCounted),
        23 | 24 => end(model, input, End::Abort),
        25 => invalidate(model, input),
        26 => {
            let count = u32::from(input.byte());
            model.sound(|scheduler| scheduler.evict_some(count));
        }
        27 => {
            let (spec, position) = (input.spec(), input.position());
            let load = model.sound(|scheduler| scheduler.part_to_load(spec.queue, 2));
            let Some(part) = load.flatten() else {
                return;
            };
            let key = LaneKey {
                group: input.position(),
                lane: position,
            };
            let last = input.byte().is_multiple_of(2).then_some(key);
            model.sound(|scheduler| {
                scheduler.offer(&part, &[(spec, position)], last, spec.queue, &[])
            });
        }
        28 => end_a_stale_one(model, input),
        29 => set_limit(model, input),
        30 => model.begin_rebuild(),
        _ if model.phase == Phase::Rebuilding => model.end_rebuild(!input.byte().is_multiple_of(4)),
        _ => resize(model, input),
    }
}

/// Gives back what one array does not need, or gives all arrays what they had at first.
fn resize(model: &mut Model, input: &mut Input) {
    let choice = input.byte();
    if choice.is_multiple_of(4) {
        return model.arena.resize(model::CAPACITY);
    }
    let array = Array::ALL[usize::from(choice / 4) % Array::ALL.len()];
    model.sound(|scheduler| scheduler.trim(array));
    let needed = model.arena.scheduler().needed();
    model.arena.resize(Capacity {
        samples: model::CAPACITY.samples,
        ..match choice % 4 {
            1 => needed,
            _ => Capacity {
                lanes: needed.lanes,
                nodes: needed.nodes,
                ..model.arena.capacity
            },
        }
    });
}

/// Only the reservations matter until the rebuild.
fn while_stale(model: &mut Model, operation: u8, input: &mut Input) {
    match operation % 4 {
        0 if !model.open.is_empty() => {
            let (id, _) = model.open.swap_remove(input.below(model.open.len()));
            drop_from_claims(model, id);
            model.sound(|scheduler| scheduler.forget(id));
        }
        1 if !model.claims.is_empty() => {
            let claim = model.claims.swap_remove(input.below(model.claims.len()));
            let taken = positions(input, claim.picked.head, claim.reservations.len());
            let unused = claim.reservations.get(taken.len()..).unwrap_or_default();
            model.open.retain(|(id, _)| !unused.contains(id));
            model.sound(|scheduler| scheduler.settle_stale(&claim.reservations, &taken));
        }
        _ => model.begin_rebuild(),
    }
}

/// A claim whose transaction has ended settles nothing any more.
fn drop_from_claims(model: &mut Model, id: ReservationId) {
    for claim in &mut model.claims {
        claim.reservations.retain(|&other| other != id);
    }
}

fn release(model: &mut Model, input: &mut Input) {
    let (spec, count) = (input.spec(), u32::from(input.byte() % 3));
    let all = |at_least: &dyn Fn(GateKind, u64) -> i64| {
        spec.gates()
            .all(|(kind, key)| at_least(kind, key) >= count.into())
    };
    let is_rebuilding = model.phase == Phase::Rebuilding;
    if is_rebuilding || all(&|kind, key| model.runs(kind, key)) {
        if model
            .sound(|scheduler| scheduler.release(&spec, count))
            .is_some()
        {
            model.count(&spec, -i64::from(count));
        }
        if is_rebuilding {
            model.unread.push((spec, count));
        }
    } else if !all(&|kind, key| model.held(kind, key)) {
        let result = model.step(|scheduler| scheduler.release(&spec, count));
        assert!(result.is_err(), "more was given back than was held");
    }
}

fn pick(model: &mut Model, input: &mut Input) {
    if model.phase != Phase::Ready {
        return;
    }
    let (choice, spec) = (input.byte(), input.spec());
    let mut reservations = vec![ReservationId::default(); usize::from(choice / 2 % 4) + 1];
    let mut credits: Vec<Credit> = match choice % 4 {
        0 => spec
            .gates()
            .filter(|&(kind, key)| model.held(kind, key) > 0)
            .map(|(kind, key)| Credit {
                kind,
                key,
                count: 1,
            })
            .collect(),
        _ => Vec::new(),
    };
    let (with_credits, before) = (!credits.is_empty(), model.held.clone());
    let pick =
        model.sound(|scheduler| scheduler.pick(spec.queue, 0, &mut credits, &mut reservations));
    reservations.retain(ReservationId::is_some);
    let Some(pick) = pick else {
        // What they were made for is not known; the fault has made the memory stale.
        model
            .open
            .extend(reservations.into_iter().map(|id| (id, spec)));
        return forget_all(model);
    };
    if let Pick::Lane(picked) = pick {
        assert_eq!(picked.reserved, reservations.len());
        for &id in &reservations {
            model.open.push((id, picked.spec));
            model.count_reserved(id, &picked.spec, 1);
        }
        model.claims.push(Claim {
            picked,
            reservations,
        });
    }
    if !with_credits {
        model.check_pick(spec.queue, &pick, &before);
    }
    if let Pick::Unknown(_, gates) = pick {
        read_limits(model, input, &gates);
    }
}

fn forget_all(model: &mut Model) {
    model.claims.clear();
    for (id, _) in std::mem::take(&mut model.open) {
        model.sound(|scheduler| scheduler.forget(id));
    }
}

fn read_limits(model: &mut Model, input: &mut Input, gates: &[UnknownGate]) {
    for gate in gates.iter().filter(|gate| gate.key != 0) {
        let settings = any_settings(input.byte());
        let stored = model.sound(|scheduler| {
            scheduler.set_gate_settings(gate.kind, gate.key, gate.version, &settings)
        });
        assert_ne!(
            stored,
            Some(false),
            "the limit of a gate just met is refused"
        );
    }
}

fn any_settings(byte: u8) -> GateSettings {
    let limit = match byte % 6 {
        0 => Limit::None,
        most => Limit::AtMost(u32::from(most) - 1),
    };
    GateSettings {
        weight: u32::from(byte / 64) + 1,
        is_fair: byte / 32 % 2 == 1,
        aging: u32::from(byte / 16 % 2),
        ..GateSettings::from(limit)
    }
}

/// A limit read long ago: its version is wrong.
fn set_limit(model: &mut Model, input: &mut Input) {
    let (spec, version) = (input.spec(), u32::MAX - input.number() as u32 / 2);
    for (kind, key) in spec.gates() {
        let settings = any_settings(input.byte());
        let stored =
            model.sound(|scheduler| scheduler.set_gate_settings(kind, key, version, &settings));
        assert_ne!(stored, Some(true), "an old limit is stored");
    }
}

fn invalidate(model: &mut Model, input: &mut Input) {
    let (spec, choice) = (input.spec(), input.byte());
    let kinds = [
        GateKind::Queue,
        GateKind::Tenant,
        GateKind::Account,
        GateKind::Concurrency,
        GateKind::Batch,
    ];
    let kind = kinds[usize::from(choice) % kinds.len()];
    if choice < 32 {
        model.sound(|scheduler| scheduler.invalidate_kind(kind));
    } else {
        model.sound(|scheduler| scheduler.invalidate_gate(kind, spec.key_of(kind)));
    }
}

fn settle(model: &mut Model, input: &mut Input) {
    if model.claims.is_empty() {
        return;
    }
    let claim = model.claims.swap_remove(input.below(model.claims.len()));
    let Claim {
        picked,
        reservations,
    } = claim;
    let taken = positions(input, picked.head, reservations.len());
    let from = if input.byte().is_multiple_of(2) {
        taken.last().copied()
    } else {
        None
    };
    let seen = positions(input, from.unwrap_or(picked.head), 4);
    let outcome = Outcome {
        taken: &taken,
        seen: &seen,
        seen_all: input.byte().is_multiple_of(2),
    };
    for &id in reservations.iter().skip(taken.len()) {
        let spec = model
            .open
            .iter()
            .find(|(open, _)| *open == id)
            .map(|(_, spec)| *spec);
        model.count_reserved(id, &spec.unwrap_or_default(), -1);
        model.open.retain(|(open, _)| *open != id);
    }
    model.sound(|scheduler| scheduler.settle(&picked, &reservations, outcome));
}

/// Up to `most` positions from `start` on.
fn positions(input: &mut Input, start: i64, most: usize) -> Vec<i64> {
    let mut at = start;
    let count = input.below(most + 1);
    (0..count)
        .map(|_| {
            at = at.saturating_add(1 + i64::from(input.byte() % 4));
            at - 1
        })
        .collect()
}

enum End {
    Commit,
    CommitCounted,
    Abort,
}

fn end(model: &mut Model, input: &mut Input, end: End) {
    if model.open.is_empty() {
        return;
    }
    let (id, spec) = model.open.swap_remove(input.below(model.open.len()));
    drop_from_claims(model, id);
    match end {
        End::Commit => {
            model.count_transferred(id, 1);
            model.count_runs(&spec, 1);
        }
        End::CommitCounted | End::Abort => model.count_reserved(id, &spec, -1),
    }
    model.sound(|scheduler| match end {
        End::Commit => scheduler.commit(id),
        End::CommitCounted => scheduler.commit_counted(id),
        End::Abort => scheduler.abort(id),
    });
}

/// A reservation ends twice.
fn end_a_stale_one(model: &mut Model, input: &mut Input) {
    let Some(&(id, _)) = model.open.first() else {
        return;
    };
    end(model, &mut Input(&[0]), End::CommitCounted);
    if model.phase == Phase::Stale || model.open.iter().any(|(open, _)| *open == id) {
        return;
    }
    let result = match input.byte() % 3 {
        0 => model.step(|scheduler| scheduler.commit(id)),
        1 => model.step(|scheduler| scheduler.abort(id)),
        _ => model.step(|scheduler| scheduler.commit_counted(id)),
    };
    assert!(result.is_err(), "a reservation ended twice");
}
