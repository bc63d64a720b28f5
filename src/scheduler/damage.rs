//! Damage to the arrays, field by field, for fuzzing: numbers become any number, kinds and flags any that exist.

use crate::reservation::Stage;
use crate::{Entry, Gate, GateKind, Header, Kind, Limit, Reservation, Scheduler};

/// Sets the field that `which` chooses.
fn scribble<const N: usize>(fields: [&mut u32; N], which: u8, value: u64) {
    if let Some(field) = fields.into_iter().nth(which as usize % N) {
        *field = value as u32;
    }
}

fn any<T: Copy, const N: usize>(of: [T; N], value: u64) -> Option<T> {
    of.get(value as usize % N).copied()
}

impl Scheduler<'_> {
    /// Sets one field of one slot, or of what is not in an array. All numbers are good for something.
    pub fn damage(&mut self, array: u8, slot: usize, field: u8, value: u64) {
        match array % 8 {
            0 | 1 => change(self.entries.slots, slot, |it| entry(it, field, value)),
            2 => change(self.gates.slots, slot, |it| gate(it, field, value)),
            3 => change(self.reservations.slots, slot, |it| {
                reservation(it, field, value)
            }),
            4 => {
                let buckets = match field % 4 {
                    0 => &mut *self.entries.buckets,
                    1 => &mut *self.gates.buckets,
                    2 => &mut *self.shares.buckets,
                    _ => &mut *self.reservations.buckets,
                };
                change(buckets, slot, |bucket| *bucket = value as u32);
            }
            5 => header(self.header, field, value),
            6 => change(self.shares.slots, slot, |it| it.damage(field, value)),
            _ => {
                let pool = match slot % 4 {
                    0 => &mut *self.entries.pool,
                    1 => &mut *self.gates.pool,
                    2 => &mut *self.shares.pool,
                    _ => &mut *self.reservations.pool,
                };
                scribble(
                    [&mut pool.live, &mut pool.used, &mut pool.free],
                    field,
                    value,
                );
            }
        }
    }
}

fn change<T>(slots: &mut [T], slot: usize, change: impl FnOnce(&mut T)) {
    let count = slots.len().max(1);
    if let Some(slot) = slots.get_mut(slot % count) {
        change(slot);
    }
}

fn entry(entry: &mut Entry, field: u8, value: u64) {
    const KINDS: [Kind; 9] = [
        Kind::Free,
        Kind::Queue,
        Kind::Tenant,
        Kind::Account,
        Kind::Session,
        Kind::Concurrency,
        Kind::Unique,
        Kind::Bundle,
        Kind::Lane,
    ];
    match field % 36 {
        0 => entry.key = value,
        1 => entry.rank.head = value.cast_signed(),
        2 => (entry.rank.level, entry.rank.priority) = (value as i32, (value >> 32) as i32),
        3 => entry.stamp = value,
        4 | 5 => entry.kind = any(KINDS, value).unwrap_or_default(),
        6 => entry.is_exact = value.is_multiple_of(2),
        7 => entry.is_mixed = value.is_multiple_of(2),
        8 => entry.is_blocked = value.is_multiple_of(2),
        9 => entry.distance = value as u8,
        10 | 11 => entry.rank.tag = value,
        which => scribble(
            [
                &mut entry.left,
                &mut entry.right,
                &mut entry.up,
                &mut entry.place,
                &mut entry.root,
                &mut entry.index_next,
                &mut entry.gate,
                &mut entry.gate_prev,
                &mut entry.gate_next,
                &mut entry.home,
                &mut entry.queue,
                &mut entry.tenant,
                &mut entry.account,
                &mut entry.session,
                &mut entry.concurrency,
                &mut entry.unique,
                &mut entry.lanes,
            ],
            which,
            value,
        ),
    }
}

fn gate(gate: &mut Gate, field: u8, value: u64) {
    match field % 15 {
        0 => gate.key = value,
        1 => gate.kind = any(GateKind::ALL, value).unwrap_or_default(),
        2 => gate.limit = Limit::Unknown,
        3 => gate.limit = Limit::None,
        4 => gate.limit = Limit::AtMost(value as u32),
        5 => gate.held = value as i32,
        6 => gate.version = value,
        7 => gate.is_idle = value.is_multiple_of(2),
        8 => gate.is_fair = value.is_multiple_of(2),
        9 => gate.weight = value as u32,
        10 => gate.aging = value as u32,
        which => scribble(
            [
                &mut gate.index_next,
                &mut gate.first_node,
                &mut gate.idle_prev,
                &mut gate.idle_next,
            ],
            which,
            value,
        ),
    }
}

fn reservation(slot: &mut Reservation, field: u8, value: u64) {
    match field % 9 {
        0 => slot.position = value.cast_signed(),
        1 => slot.next = value as u32,
        2 => slot.stage = any([Stage::Free, Stage::Room, Stage::Job], value).unwrap_or_default(),
        3 => slot.transferred = value as u8,
        4 => slot.spec.lane = value,
        5 => slot.spec.queue = value,
        6 => slot.spec.tenant = value,
        7 => slot.charged = value as u32,
        _ => slot.spec.session = value,
    }
}

fn header(header: &mut Header, field: u8, value: u64) {
    match field % 14 {
        0 => header.stamp = value,
        1 => header.version = value,
        2 => header.outside.spilled = value.is_multiple_of(2),
        3 => header.rebuilding = value.is_multiple_of(2),
        4 => header.sampled_every = value.cast_signed(),
        5 => header.epoch = value.cast_signed(),
        6 => header.newest = value.cast_signed(),
        which => scribble(
            [
                &mut header.lanes,
                &mut header.idle,
                &mut header.idle_first,
                &mut header.idle_last,
                &mut header.hand,
                &mut header.samples,
            ],
            which,
            value,
        ),
    }
}
