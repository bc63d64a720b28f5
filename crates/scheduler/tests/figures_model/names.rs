//! What the lanes of the model are called.

use turnstile_scheduler::figures::{Change, KINDS, Labels};
use turnstile_scheduler::{GateKind, LaneSpec};

fn key(kind: usize, nth: u64) -> u64 {
    (kind as u64 + 1) * 1_000_003 + nth
}

pub fn text(kind: GateKind, key: u64) -> String {
    match kind {
        GateKind::Queue => "q".repeat(1 + 10 * (key % 1_000_003 % 10) as usize),
        GateKind::Batch => key.to_string(),
        _ => format!("{kind:?} {key}"),
    }
}

/// Keys and what they are called.
pub fn lane(queue: u64, tenant: Option<u64>) -> (LaneSpec, Change) {
    lane_in_batch(queue, tenant, 0)
}

/// A batch of 0 is none.
pub fn lane_in_batch(queue: u64, tenant: Option<u64>, batch: u64) -> (LaneSpec, Change) {
    let mut spec = LaneSpec {
        lane: 1 + (batch << 32) + queue * 100_000 + tenant.unwrap_or(99_999),
        batch,
        ..LaneSpec::default()
    };
    *spec.key_mut(GateKind::Queue) = key(0, queue);
    if let Some(tenant) = tenant {
        *spec.key_mut(GateKind::Tenant) = key(1, tenant);
        *spec.key_mut(GateKind::Account) = key(2, tenant);
    }
    let names = KINDS.map(|kind| match spec.key_of(kind) {
        0 => None,
        key => Some(text(kind, key)),
    });
    let change = Change {
        labels: Some(Labels::of(names.each_ref().map(Option::as_deref))),
        ..Change::default()
    };
    (spec, change)
}
