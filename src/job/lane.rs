//! The 64-bit keys by which the scheduler identifies lanes.
//!
//! They are stored in the tables, so they must never change: SipHash-1-3 with a zero key over the priority and, for the
//! gates that the lane has and no others, the numbers of their kinds and their keys. So a new kind of gate changes no
//! stored key. See pg_test/rules/test_frozen.py.

use crate::job::gates::{self, Descriptor, NO_GATE, not_none};
use siphasher::sip::SipHasher13;
use std::cell::RefCell;
use std::hash::Hasher;
use turnstile_scheduler::{GateKind, LaneSpec};

/// The name by which a claim takes jobs of all queues; no queue has this name.
pub const EVERY_QUEUE: &str = "*";

/// The names of a job's gates, by the numbers of their kinds.
type Names<'a> = [Option<&'a str>; GateKind::ALL.len()];

/// A lane with what it was made of.
#[derive(Default)]
struct Made {
    names: [Option<String>; GateKind::ALL.len()],
    spec: LaneSpec,
}

thread_local! {
    /// The last one: a job is looked at more than once, and jobs that follow each other are often of one lane.
    static LAST: RefCell<Made> = RefCell::default();
}

impl Made {
    fn is_of(&self, priority: i32, names: &Names) -> bool {
        // Before the first one, no lane has been made.
        let is_made = self.spec.lane != NO_GATE;
        let mut pairs = self.names.iter().zip(names);
        is_made
            && self.spec.priority == priority
            && pairs.all(|(made, name)| made.as_deref() == *name)
    }

    fn keep(&mut self, names: &Names) {
        for (kept, name) in self.names.iter_mut().zip(names) {
            match name {
                Some(name) => {
                    let kept = kept.get_or_insert_default();
                    kept.clear();
                    kept.push_str(name);
                }
                None => *kept = None,
            }
        }
    }
}

/// The lane of jobs with this priority, and the name for each kind of gate that `name` gives.
pub fn lane_of<'a>(
    priority: i32,
    mut name: impl FnMut(&Descriptor) -> Option<&'a str>,
) -> LaneSpec {
    let names = GateKind::ALL.map(|kind| name(gates::of(kind)));
    LAST.with_borrow_mut(|last| {
        if !last.is_of(priority, &names) {
            last.spec = make(priority, &names);
            last.keep(&names);
        }
        last.spec
    })
}

fn make(priority: i32, names: &Names) -> LaneSpec {
    let mut spec = LaneSpec {
        priority,
        ..LaneSpec::default()
    };
    let mut hasher = SipHasher13::new();
    hasher.write_u8(LANE);
    hasher.write(&priority.to_le_bytes());
    for (gate, name) in gates::all().zip(names) {
        if let Some(name) = name {
            let key = gate.key(&spec, name);
            *spec.key_mut(gate.kind) = key;
            hasher.write_u8(gate.number);
            hasher.write(&key.to_le_bytes());
        }
    }
    spec.lane = not_none(hasher.finish());
    spec
}

/// The key by which a claim names a queue, or all of them.
pub fn claimed_key(name: &str) -> u64 {
    match name {
        EVERY_QUEUE => turnstile_scheduler::EVERY_QUEUE,
        name => queue_key(name),
    }
}

/// The gates of the queues that a claim names, for a statement; none stands for all queues.
pub fn gates_of_claim(queues: &[u64]) -> Option<Vec<i64>> {
    let names_all = queues.contains(&turnstile_scheduler::EVERY_QUEUE);
    (!names_all).then(|| queues.iter().map(|key| key.cast_signed()).collect())
}

/// The channel on which listeners of a queue, or of all queues, are notified of work.
pub fn channel(queue: u64) -> String {
    format!("turnstile_{queue:016x}")
}

pub fn queue_key(name: &str) -> u64 {
    gates::of(GateKind::Queue).key_anywhere(name)
}

pub fn tenant_key(name: &str) -> u64 {
    gates::of(GateKind::Tenant).key_anywhere(name)
}

/// The session of a queue and a tenant.
pub fn session_key(queue: u64, tenant: u64, name: &str) -> u64 {
    let scope = LaneSpec {
        queue,
        tenant,
        ..LaneSpec::default()
    };
    gates::of(GateKind::Session).key(&scope, name)
}

/// Stands for a lane where a gate's key has the number of its kind.
const LANE: u8 = u8::MAX;
