//! The 64-bit keys by which the scheduler identifies lanes.
//!
//! They are stored in the tables, so they must never change: SipHash-1-3 with a zero key over the priority and, for the
//! gates that the lane has and no others, the numbers of their kinds and their keys. So a new kind of gate changes no
//! stored key. See pg_test/rules/test_frozen.py.

use crate::job::gates::{self, Descriptor, not_none};
use siphasher::sip::SipHasher13;
use std::hash::Hasher;
use turnstile_scheduler::{GateKind, LaneSpec};

/// The name by which a claim takes jobs of all queues; no queue has this name.
pub const EVERY_QUEUE: &str = "*";

/// The lane of jobs with this priority, and the name for each kind of gate that `name` gives. It is asked for the kinds in
/// the order of their numbers.
pub fn lane_of<'a>(
    priority: i32,
    mut name: impl FnMut(&Descriptor) -> Option<&'a str>,
) -> LaneSpec {
    let mut spec = LaneSpec {
        priority,
        ..LaneSpec::default()
    };
    let mut hasher = SipHasher13::new();
    hasher.write_u8(LANE);
    hasher.write(&priority.to_le_bytes());
    for gate in gates::all() {
        if let Some(name) = name(gate) {
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
