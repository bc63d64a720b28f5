//! The kinds of gates that have figures.

use crate::memory::gate::GateKind;

/// What has figures under a name. Batches have some, too, and no name but their key.
pub const KINDS: [GateKind; 4] = [
    GateKind::Queue,
    GateKind::Tenant,
    GateKind::Account,
    GateKind::Concurrency,
];

/// The place of a kind in an array that has one for each. Batches come last.
pub(super) fn index_of(kind: GateKind) -> usize {
    let listed = KINDS.iter().position(|&it| it == kind);
    listed.unwrap_or(KINDS.len())
}
