//! Counting limits: queue, tenant, account, session, concurrency key and unique key are all the same struct.

use crate::faults::{Seeded, armed};
use crate::index::Slot;
use crate::{Fault, Kind, LaneSpec, Limit, NONE, Scheduler, Step};

#[repr(u8)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum GateKind {
    #[default]
    Queue,
    Tenant,
    Account,
    Session,
    Concurrency,
    Unique,
}

/// Gates that a lane may pass through.
pub(crate) const MOST_GATES: usize = GateKind::ALL.len();

impl GateKind {
    pub const ALL: [GateKind; 6] = [
        GateKind::Queue,
        GateKind::Tenant,
        GateKind::Account,
        GateKind::Session,
        GateKind::Concurrency,
        GateKind::Unique,
    ];

    /// The limit of gates that have no row of settings.
    pub fn fixed_limit(self) -> Option<Limit> {
        matches!(self, GateKind::Session | GateKind::Unique).then_some(Limit::AtMost(1))
    }

    pub(crate) fn node(self) -> Kind {
        match self {
            GateKind::Queue => Kind::Queue,
            GateKind::Tenant => Kind::Tenant,
            GateKind::Account => Kind::Account,
            GateKind::Session => Kind::Session,
            GateKind::Concurrency => Kind::Concurrency,
            GateKind::Unique => Kind::Unique,
        }
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Gate {
    pub key: u64,
    pub kind: GateKind,
    pub limit: Limit,
    /// Committed running jobs plus what open transactions have reserved. Below 0 only during a rebuild,
    /// when a job's end was heard of before the job was read.
    pub held: i32,
    /// Drawn anew whenever the limit in the tables may have changed.
    pub version: u64,
    pub(crate) index_next: u32,
    pub(crate) first_node: u32,
    pub(crate) idle_prev: u32,
    pub(crate) idle_next: u32,
    pub(crate) is_idle: bool,
    /// Its rate or pause lets nothing start now.
    pub(crate) sleeps: bool,
    /// Jobs have started of which no bucket knows.
    pub(crate) ran_unmetered: bool,
    /// Of a queue: tenants share its starts by weight.
    pub(crate) is_fair: bool,
    /// Of a tenant.
    pub(crate) weight: u32,
    /// Of a queue: how long a job waits for a step of priority, in milliseconds; 0: for ever.
    pub(crate) aging: u32,
    /// The clockwork of a gate that has a rate or a pause.
    pub(crate) meter: u32,
}

impl Slot for Gate {
    fn key(&self) -> u64 {
        self.key
    }
    fn next(&self) -> u32 {
        self.index_next
    }
    fn set_next(&mut self, next: u32) {
        self.index_next = next;
    }
}

impl Gate {
    /// An unknown limit counts as room: who wants to use it has to read it first.
    pub fn room(&self) -> u32 {
        match self.limit {
            Limit::AtMost(most) => {
                let most = most.saturating_add(u32::from(armed(Seeded::OneTooMany)));
                let room = i64::from(most) - i64::from(self.held);
                u32::try_from(room.max(0)).unwrap_or(u32::MAX)
            }
            Limit::None | Limit::Unknown => u32::MAX,
        }
    }
}

impl Scheduler<'_> {
    pub(crate) fn gate(&self, at: u32) -> Step<&Gate> {
        self.gates.get(at)
    }

    pub(crate) fn gate_mut(&mut self, at: u32) -> Step<&mut Gate> {
        #[cfg(feature = "fault_injection")]
        crate::injection::touch();
        self.gates.get_mut(at)
    }

    pub(crate) fn find_gate(&self, kind: GateKind, key: u64) -> Step<Option<u32>> {
        self.gates.find(key, |gate| gate.kind == kind)
    }

    /// A node without a gate is always open.
    pub(crate) fn gate_is_open(&self, at: u32) -> Step<bool> {
        if at == NONE {
            return Ok(true);
        }
        let gate = self.gate(at)?;
        Ok(gate.room() > 0 && !gate.sleeps)
    }

    pub(crate) fn find_or_make_gate(&mut self, kind: GateKind, key: u64) -> Step<u32> {
        if let Some(at) = self.find_gate(kind, key)? {
            return Ok(at);
        }
        if self.gates.left() == 0 {
            self.forget_idle_gate()?;
        }
        let limit = self.first_limit(kind);
        let version = self.next_version();
        let at = self.gates.insert(Gate {
            key,
            kind,
            limit,
            version,
            weight: 1,
            ..Gate::default()
        })?;
        self.note_idleness(at)?;
        Ok(at)
    }

    /// Adds `count` to every gate of the lane, whatever the limits say.
    pub fn hold(&mut self, spec: &LaneSpec, count: u32) -> Step<()> {
        if count == 0 {
            return Ok(());
        }
        for (kind, key) in spec.gates() {
            self.hold_gate(kind, key, count)?;
        }
        Ok(())
    }

    /// Gives `count` back at every gate of the lane.
    pub fn release(&mut self, spec: &LaneSpec, count: u32) -> Step<()> {
        for (kind, key) in spec.gates() {
            self.release_gate(kind, key, count)?;
        }
        Ok(())
    }

    /// Returns the gate.
    pub(crate) fn hold_gate(&mut self, kind: GateKind, key: u64, count: u32) -> Step<u32> {
        let at = self.find_or_make_gate(kind, key)?;
        let held = self.gate(at)?.held;
        let held = held
            .checked_add_unsigned(count)
            .ok_or(Fault::Corrupt("held"))?;
        self.set_held(at, held)?;
        Ok(at)
    }

    pub(crate) fn release_gate(&mut self, kind: GateKind, key: u64, count: u32) -> Step<()> {
        if count == 0 {
            return Ok(());
        }
        let at = self.find_or_make_gate(kind, key)?;
        let held = self.gate(at)?.held;
        let held = held
            .checked_sub_unsigned(count)
            .filter(|&held| held >= 0 || self.header.rebuilding)
            .ok_or(Fault::Corrupt("a gate gave back more than it held"))?;
        self.set_held(at, held)
    }

    fn set_held(&mut self, at: u32, held: i32) -> Step<()> {
        let was_open = self.gate_is_open(at)?;
        self.gate_mut(at)?.held = held;
        self.note_idleness(at)?;
        self.follow_gate(at, was_open)
    }

    /// Takes the gate's nodes out of their parents' heaps, or puts them back, when it closed or opened.
    pub(crate) fn follow_gate(&mut self, at: u32, was_open: bool) -> Step<()> {
        if self.gate_is_open(at)? == was_open {
            return Ok(());
        }
        if armed(match was_open {
            true => Seeded::MissClosing,
            false => Seeded::MissOpening,
        }) {
            return Ok(());
        }
        if !was_open {
            self.note_chance();
        }
        let mut node = self.gate(at)?.first_node;
        for _ in 0..=self.entries.slots.len() {
            if node == NONE {
                return Ok(());
            }
            let next = self.entry(node)?.gate_next;
            self.settle_place(node)?;
            node = next;
        }
        Err(Fault::Corrupt("a gate's list has a cycle"))
    }

    pub(crate) fn attach_to_gate(&mut self, node: u32, gate: u32) -> Step<()> {
        let next = self.gate(gate)?.first_node;
        if next != NONE {
            self.entry_mut(next)?.gate_prev = node;
        }
        let entry = self.entry_mut(node)?;
        entry.gate = gate;
        entry.gate_next = next;
        self.gate_mut(gate)?.first_node = node;
        self.note_idleness(gate)
    }

    pub(crate) fn detach_from_gate(&mut self, node: u32) -> Step<()> {
        let (gate, prev, next) = {
            let entry = self.entry(node)?;
            (entry.gate, entry.gate_prev, entry.gate_next)
        };
        if gate == NONE {
            return Ok(());
        }
        if prev == NONE {
            self.gate_mut(gate)?.first_node = next;
        } else {
            self.entry_mut(prev)?.gate_next = next;
        }
        if next != NONE {
            self.entry_mut(next)?.gate_prev = prev;
        }
        self.entry_mut(node)?.gate = NONE;
        self.note_idleness(gate)
    }

    /// Gates that can be made, counting those that nothing uses.
    pub(crate) fn gates_left(&self) -> usize {
        self.gates.left() + self.header.idle as usize
    }

    pub(crate) fn next_version(&mut self) -> u64 {
        // 0 stands for a slot without a gate.
        self.header.version = self.header.version.wrapping_add(1).max(1);
        self.header.version
    }
}
