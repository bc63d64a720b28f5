//! The 64-bit keys by which the scheduler identifies lanes and gates.
//!
//! They are stored in the tables, so they must never change: SipHash-1-3 with a zero key. A gate's key hashes the
//! number of its kind, the keys of the names that its name is scoped to, and the name with its length before it. A
//! lane's key hashes its priority and, for the gates that it has and no others, their kinds and keys: a new kind of
//! gate changes no stored key. See pg_test/rules/test_frozen.py.

use siphasher::sip::SipHasher13;
use std::hash::Hasher;
use turnstile_scheduler::{GateKind, LaneSpec};

/// The name whose row holds the settings of all names without a row.
pub const DEFAULT_ROW: &str = "*";

/// The name by which a claim takes jobs of all queues; no queue has this name.
pub const EVERY_QUEUE: &str = "*";

/// The names of a job that decide where it may run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Names<'a> {
    pub queue: &'a str,
    pub tenant: Option<&'a str>,
    pub account: Option<&'a str>,
    pub session: Option<&'a str>,
    pub concurrency_key: Option<&'a str>,
    /// Set only where the mode lets one job with the key run at a time.
    pub unique_key: Option<&'a str>,
}

impl Names<'_> {
    pub fn lane(&self, priority: i32) -> LaneSpec {
        let queue = queue_key(self.queue);
        let tenant = self.tenant.map_or(0, tenant_key);
        let mut spec = LaneSpec {
            lane: 0,
            queue,
            tenant,
            account: self.account.map_or(0, |name| account_key(tenant, name)),
            session: self
                .session
                .map_or(0, |name| session_key(queue, tenant, name)),
            concurrency: self.concurrency_key.map_or(0, concurrency_key),
            unique: self.unique_key.map_or(0, |name| unique_key(tenant, name)),
            priority,
        };
        spec.lane = lane_key(&spec);
        spec
    }
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
    gate_key(GateKind::Queue, &[], name)
}

pub fn tenant_key(name: &str) -> u64 {
    gate_key(GateKind::Tenant, &[], name)
}

/// Account names are scoped to the tenant.
pub fn account_key(tenant: u64, name: &str) -> u64 {
    gate_key(GateKind::Account, &[tenant], name)
}

/// Session names are scoped to the queue and the tenant.
pub fn session_key(queue: u64, tenant: u64, name: &str) -> u64 {
    gate_key(GateKind::Session, &[queue, tenant], name)
}

pub fn concurrency_key(name: &str) -> u64 {
    gate_key(GateKind::Concurrency, &[], name)
}

/// Unique keys are scoped to the tenant.
pub fn unique_key(tenant: u64, name: &str) -> u64 {
    gate_key(GateKind::Unique, &[tenant], name)
}

/// The number of a kind of gate in stored keys and in `sql/schema/tables/shared.sql`. Never change or reuse one.
pub const fn number(kind: GateKind) -> u8 {
    match kind {
        GateKind::Queue => 0,
        GateKind::Tenant => 1,
        GateKind::Account => 2,
        GateKind::Session => 3,
        GateKind::Concurrency => 4,
        GateKind::Unique => 5,
    }
}

/// Stands for a lane where a gate's key has the number of its kind.
const LANE: u8 = u8::MAX;

fn gate_key(kind: GateKind, scope: &[u64], name: &str) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write_u8(number(kind));
    for &key in scope {
        hasher.write(&key.to_le_bytes());
    }
    hasher.write(&(name.len() as u64).to_le_bytes());
    hasher.write(name.as_bytes());
    not_none(hasher.finish())
}

fn lane_key(spec: &LaneSpec) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write_u8(LANE);
    hasher.write(&spec.priority.to_le_bytes());
    // In the order of their numbers, which is that of the kinds.
    for kind in GateKind::ALL {
        let key = spec.key_of(kind);
        if key != NO_GATE {
            hasher.write_u8(number(kind));
            hasher.write(&key.to_le_bytes());
        }
    }
    not_none(hasher.finish())
}

const NO_GATE: u64 = 0;

fn not_none(key: u64) -> u64 {
    if key == NO_GATE { 1 } else { key }
}
