//! Damage to the arrays, field by field, for fuzzing: numbers become any number, kinds and flags any that exist.

use super::entry::{Entry, Kind};
use super::flags::Bits;
use super::gate::{Gate, GateKind, Limit};
use super::header::Header;
use super::lane::Lane;
use super::node::Node;
use super::reservation::{Reservation, Stage};
use super::scheduler::Scheduler;
use super::slab::Slot;

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
        match array % 13 {
            0 => change(self.lanes.beside, slot, |it| entry(it, field, value)),
            1 => change(self.nodes.beside, slot, |it| entry(it, field, value)),
            2 => change(self.lanes.slots, slot, |it| lane(it, field, value)),
            3 => change(self.nodes.slots, slot, |it| node(it, field, value)),
            4 => change(self.gates.slots, slot, |it| gate(it, field, value)),
            5 => change(self.reservations.slots, slot, |it| {
                reservation(it, field, value)
            }),
            6 => {
                let buckets = match field % 9 {
                    0 => &mut *self.lanes.buckets,
                    1 => &mut *self.nodes.buckets,
                    2 => &mut *self.gates.buckets,
                    3 => &mut *self.meters.buckets,
                    4 => &mut *self.shares.buckets,
                    5 => &mut *self.due.buckets,
                    6 => &mut *self.outside.buckets,
                    7 => &mut *self.leases.buckets,
                    _ => &mut *self.reservations.buckets,
                };
                change(buckets, slot, |bucket| *bucket = value as u32);
            }
            7 => header(self.header, field, value),
            10 => change(self.outside.slots, slot, |it| it.damage(field, value)),
            8 => change(self.shares.slots, slot, |it| it.damage(field, value)),
            9 if field % 11 == 10 => change(self.due_order, slot, |place| *place = value as u32),
            11 => change(self.leases.slots, slot, |it| it.damage(field, value)),
            9 => change(self.due.slots, slot, |it| it.damage(field, value)),
            _ => {
                let pool = match slot % 9 {
                    0 => &mut *self.lanes.pool,
                    1 => &mut *self.nodes.pool,
                    2 => &mut *self.gates.pool,
                    3 => &mut *self.meters.pool,
                    4 => &mut *self.shares.pool,
                    5 => &mut *self.due.pool,
                    6 => &mut *self.outside.pool,
                    7 => &mut *self.leases.pool,
                    _ => &mut *self.reservations.pool,
                };
                scribble(
                    [
                        &mut pool.live,
                        &mut pool.used,
                        &mut pool.free,
                        &mut pool.linked,
                        &mut pool.last_bucket,
                    ],
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
    match field % 16 {
        0 | 1 => entry.head = value.cast_signed(),
        2 => entry.level = value as i32,
        3 | 4 => entry.kind = any(Kind::ALL, value).unwrap_or_default(),
        5 | 6 => entry.bits = Bits(value as u8),
        7 => entry.distance = value as u8,
        8 => entry.left_distance = value as u8,
        which => scribble(
            [
                &mut entry.left,
                &mut entry.right,
                &mut entry.up,
                &mut entry.home,
            ],
            which,
            value,
        ),
    }
}

fn lane(lane: &mut Lane, field: u8, value: u64) {
    match field % 10 {
        0 => lane.key = value,
        5 => lane.queue_next = value as u32,
        6 => lane.queue_prev = value as u32,
        4 => lane.priority = value as i32,
        1 => lane.stamp = value as u32,
        2 => lane.session = value as u32,
        7 => lane.older = value as u32,
        8 => lane.newer = value as u32,
        _ => lane.set_next(value as u32),
    }
}

fn node(node: &mut Node, field: u8, value: u64) {
    match field % 12 {
        0 => node.tag = value,
        which => scribble(
            [
                &mut node.root,
                &mut node.other,
                &mut node.gate,
                &mut node.gate_next,
                &mut node.gate_prev,
                &mut node.lanes,
                &mut node.index_next,
                &mut node.oldest,
                &mut node.peer_before,
                &mut node.peer_after,
            ],
            which,
            value,
        ),
    }
}

fn gate(gate: &mut Gate, field: u8, value: u64) {
    match field % 12 {
        0 => gate.key = value,
        1 => gate.kind = any(GateKind::ALL, value).unwrap_or_default(),
        2 => gate.set_limit(Limit::Unknown),
        3 => gate.set_limit(Limit::None),
        4 => gate.set_limit(Limit::AtMost(value as u32)),
        5 => gate.version = value as u32,
        6 | 7 => gate.bits = Bits(value as u8),
        8 => gate.weight = value as u16,
        which => scribble(
            [
                &mut gate.index_next,
                &mut gate.held_or_prev,
                &mut gate.node_or_next,
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
    match field % 21 {
        0 => header.stamp = value,
        1 => header.settings.version = value as u32,
        2 => header.outside.everything.spilled = value.is_multiple_of(2),
        3 => header.rebuilding = value.is_multiple_of(2),
        4 => header.calendar.sample_interval = value.cast_signed(),
        5 => header.calendar.epoch = value.cast_signed(),
        6 => header.calendar.newest = value.cast_signed(),
        14 => header.due.count = value as u32,
        15 => header.due.has_others = value.is_multiple_of(2),
        16 => header.due.others = value.cast_signed(),
        17 => header.due.has_leases_outside = value.is_multiple_of(2),
        18 => header.due.leases_outside = value.cast_signed(),
        19 => header.doubts.lanes = value as u32,
        20 => header.doubts.hand = value as u32,
        which => scribble(
            [
                &mut header.clock.timers,
                &mut header.queues.first_top,
                &mut header.queues.count,
                &mut header.queues.tops,
                &mut header.idle_gates.count,
                &mut header.idle_gates.first,
                &mut header.idle_gates.last,
                &mut header.outside.newest,
                &mut header.calendar.samples,
            ],
            which,
            value,
        ),
    }
}
