//! A job is withdrawn between a look at its lane and what the look found: too rare for random worlds.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod world;

use turnstile_scheduler::{Capacity, GateKind, LaneSpec, Limit, Outcome, Pick, Picked, Scheduler};
use world::arena::Arena;

const CAPACITY: Capacity = Capacity {
    lanes: 11,
    nodes: 50,
    gates: 60,
    meters: 60,
    reservations: 10,
    shares: 10,
    due: 4,
    leases: 4,
    samples: 10,
};

/// Lanes of one session that differ by their account.
fn lane(account: u64) -> LaneSpec {
    LaneSpec {
        lane: 100 + account,
        queue: 1,
        tenant: 2,
        account,
        session: 3,
        ..LaneSpec::default()
    }
}

/// Picks, reading limits as needed: the closed account has none.
fn pick(scheduler: &mut Scheduler, closed: u64) -> Option<Picked> {
    loop {
        match scheduler
            .pick(1, 0, &mut [], &mut [Default::default()])
            .unwrap()
        {
            Pick::Lane(picked) => return Some(picked),
            Pick::Unknown(_, gates) => {
                for gate in gates.iter().filter(|gate| gate.key != 0) {
                    let is_closed = (gate.kind, gate.key) == (GateKind::Account, closed);
                    let limit = if is_closed {
                        Limit::AtMost(0)
                    } else {
                        Limit::None
                    };
                    scheduler
                        .set_gate_settings(gate.kind, gate.key, gate.version, &limit.into())
                        .unwrap();
                }
            }
            Pick::Nothing => return None,
            Pick::Exhausted => panic!("no reservations are in use"),
        }
    }
}

#[test]
fn a_look_older_than_the_withdrawal_is_discarded() {
    let mut arena = Arena::new(CAPACITY);
    let mut scheduler = arena.scheduler();
    let (closed, open) = (7, 8);
    scheduler.lower(&lane(closed), 1).unwrap();
    scheduler.lower(&lane(open), 2).unwrap();
    let look = pick(&mut scheduler, closed).unwrap();
    assert_eq!((look.spec.account, look.reserved), (closed, 0));

    scheduler.withdraw(&lane(closed), 1).unwrap();
    let before = Outcome {
        taken: &[],
        seen: &[1],
        seen_all: true,
    };
    scheduler.settle(&look, &[], before).unwrap();

    let look = pick(&mut scheduler, closed).unwrap();
    assert_eq!((look.spec.account, look.reserved), (closed, 0));
    let nothing = Outcome {
        seen: &[],
        ..before
    };
    scheduler.settle(&look, &[], nothing).unwrap();
    assert_eq!(pick(&mut scheduler, closed).unwrap().spec.account, open);
}
