//! Operations on memory whose fields were set to anything, with arguments that the server would never send:
//! an answer may be wrong, but nothing panics, every step ends, and a rebuild makes the memory sound again.

#![no_main]

// Each target uses a part of it.
#[allow(dead_code)]
#[path = "../../crates/scheduler/tests/world/arena.rs"]
mod arena;
#[allow(dead_code)]
mod input;

use arena::Arena;
use input::Input;
use libfuzzer_sys::fuzz_target;
use turnstile_scheduler::probes::Probes;
use turnstile_scheduler::{
    Array, Capacity, Credit, GateKind, GateSettings, Limit, Outcome, Pick, Picked, ReservationId,
    RunId, Scheduler, Step,
};

#[allow(dead_code)]
type Checked<T = ()> = Result<T, String>;

const CAPACITY: Capacity = Capacity {
    lanes: 11,
    nodes: 34,
    gates: 60,
    meters: 60,
    reservations: 6,
    shares: 6,
    due: 4,
    leases: 6,
    samples: 6,
};

fuzz_target!(|bytes: &[u8]| {
    let mut input = Input(bytes);
    let mut arena = Arena::new(CAPACITY);
    let mut known = Known::default();
    while let Some(operation) = input.next() {
        if operation == u8::MAX {
            resize(&mut arena, &mut input);
        }
        let mut scheduler = arena.scheduler();
        let _ = any(&mut scheduler, &mut known, operation, &mut input);
        let _ = scheduler.audit();
    }
    arena.resize(CAPACITY);
    rebuild(&mut arena.scheduler());
});

/// Arrays that are shorter than what is in use.
fn resize(arena: &mut Arena, input: &mut Input) {
    let mut any = |most: usize| 1 + input.below(most);
    arena.resize(Capacity {
        lanes: any(CAPACITY.lanes),
        nodes: any(CAPACITY.nodes),
        gates: any(CAPACITY.gates),
        meters: any(CAPACITY.meters),
        shares: any(CAPACITY.shares),
        reservations: any(CAPACITY.reservations),
        due: any(CAPACITY.due),
        leases: any(CAPACITY.leases),
        samples: any(CAPACITY.samples),
    });
}

/// What the calls before have answered.
#[derive(Default)]
struct Known {
    picked: Vec<Picked>,
    ids: Vec<ReservationId>,
}

fn any(scheduler: &mut Scheduler, known: &mut Known, operation: u8, input: &mut Input) -> Step<()> {
    match operation % 26 {
        0..4 => {
            let (array, slot, field) = (input.byte(), input.byte(), input.byte());
            scheduler.damage(array, slot.into(), field, input.number());
            Ok(())
        }
        4..8 => scheduler.lower(&input.wild_spec(), input.position()),
        8 => scheduler.withdraw(&input.wild_spec(), input.position()),
        9 => scheduler.hold(&input.wild_spec(), input.number() as u32),
        10 => scheduler.release(&input.wild_spec(), input.number() as u32),
        11..14 => pick(scheduler, known, input),
        14 | 15 => settle(scheduler, known, input),
        16 => scheduler.commit(id(known, input)),
        17 => scheduler.abort(id(known, input)),
        18 => scheduler.commit_counted(id(known, input)),
        19 => scheduler.forget(id(known, input)),
        20 => {
            let spec = input.wild_spec();
            let settings = GateSettings {
                aging: input.number() as u32,
                ..GateSettings::from(Limit::AtMost(input.number() as u32))
            };
            for (kind, key) in spec.gates() {
                scheduler.set_gate_settings(kind, key, input.number() as u32, &settings)?;
            }
            Ok(())
        }
        21 => {
            scheduler.invalidate_kind(GateKind::ALL[input.below(GateKind::ALL.len())])?;
            scheduler.invalidate_gate(GateKind::Queue, input.number())
        }
        22 => scheduler.evict_some(input.number() as u32),
        24 => leases(scheduler, input),
        23 => {
            let spec = input.wild_spec();
            let (lanes, queue) = ([(spec, input.position())], spec.queue);
            if let Some(search) = scheduler.begin_search(queue, &[])? {
                scheduler.offer_to_search(&search, &lanes, None, &[])?;
                scheduler.go_on_searching(&search, None, &[])?;
            }
            match scheduler.part_to_load(queue, input.number() as u32)? {
                Some(part) => scheduler.offer(&part, &lanes, None, queue, &[]),
                None => Ok(()),
            }
        }
        _ => {
            let array = Array::ALL[input.below(Array::ALL.len())];
            scheduler.trim(array)?;
            read_all(scheduler)
        }
    }
}

fn leases(scheduler: &mut Scheduler, input: &mut Input) -> Step<()> {
    let (queue, time) = (1 + input.below(3) as u64, input.number().cast_signed());
    let again = time.saturating_add(1);
    let run = RunId {
        job: input.below(8) as i64,
        attempt: 1,
    };
    match input.byte() % 4 {
        0 => scheduler.forget_lease(run),
        1 => {
            let mut taken = Vec::new();
            scheduler.take_leases(queue, time, again, 4, &mut taken)?;
            let found = Some((queue, input.number().cast_signed()));
            taken
                .into_iter()
                .try_for_each(|run| scheduler.settle_lease(run, again, found))
        }
        _ => scheduler.note_lease(queue, run, time),
    }
}

fn id(known: &Known, input: &mut Input) -> ReservationId {
    known
        .ids
        .get(input.below(known.ids.len()))
        .copied()
        .unwrap_or_default()
}

fn pick(scheduler: &mut Scheduler, known: &mut Known, input: &mut Input) -> Step<()> {
    let spec = input.wild_spec();
    let mut reservations = vec![ReservationId::default(); input.below(4)];
    let mut credits: Vec<Credit> = spec
        .gates()
        .take(input.below(6))
        .map(|(kind, key)| Credit {
            kind,
            key,
            count: input.number() as u32,
        })
        .collect();
    let pick = scheduler.pick(
        spec.queue,
        input.number().cast_signed(),
        &mut credits,
        &mut reservations,
    );
    known.ids.extend(reservations);
    match pick? {
        Pick::Lane(picked) => known.picked.push(picked),
        Pick::Unknown(_, gates) => {
            for gate in gates {
                scheduler.set_gate_settings(
                    gate.kind,
                    gate.key,
                    gate.version,
                    &Limit::None.into(),
                )?;
            }
        }
        Pick::Nothing | Pick::Exhausted => {}
    }
    Ok(())
}

fn settle(scheduler: &mut Scheduler, known: &Known, input: &mut Input) -> Step<()> {
    let Some(picked) = known.picked.get(input.below(known.picked.len())) else {
        return Ok(());
    };
    let ids: Vec<ReservationId> = (0..input.below(4)).map(|_| id(known, input)).collect();
    let taken: Vec<i64> = (0..input.below(4)).map(|_| input.position()).collect();
    let seen: Vec<i64> = (0..input.below(5)).map(|_| input.position()).collect();
    if input.byte().is_multiple_of(4) {
        return scheduler.settle_stale(&ids, &taken);
    }
    let seen_all = input.byte().is_multiple_of(2);
    let outcome = Outcome {
        taken: &taken,
        seen: &seen,
        seen_all,
    };
    scheduler.settle(picked, &ids, outcome).map(|_| ())
}

/// As `turnstile.check()` does.
fn read_all(scheduler: &Scheduler) -> Step<()> {
    for slot in scheduler.lane_slots() {
        scheduler.lane_at(slot)?;
    }
    for slot in scheduler.gate_slots() {
        scheduler.gate_at(slot)?;
    }
    for slot in scheduler.lease_slots() {
        scheduler.lease_at(slot)?;
    }
    scheduler.running_in(1, 10)?;
    scheduler.for_each_reserved_gate(|_, _| {})?;
    scheduler.for_each_job_in_flight(|_, _| {})
}

/// The reservations are all that a rebuild trusts, so there are fewer than gates for them.
fn rebuild(scheduler: &mut Scheduler) {
    assert_eq!(scheduler.begin_rebuild(), Ok(()));
    assert_eq!(scheduler.end_rebuild(), Ok(()));
    assert_eq!(scheduler.audit(), Ok(()));
    let lane = Input(&[7, 1]).spec();
    assert_eq!(scheduler.lower(&lane, 5), Ok(()));
    assert_eq!(scheduler.audit(), Ok(()));
    assert!(matches!(
        scheduler.pick(lane.queue, 0, &mut [], &mut []),
        Ok(Pick::Unknown(..) | Pick::Nothing)
    ));
}
