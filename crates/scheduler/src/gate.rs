//! Counting limits: queue, tenant, account, session, concurrency key and unique key are all the same struct.

use crate::bits::Bits;
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

const CYCLE: Fault = Fault::Corrupt("a gate's list has a cycle");

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
    pub(crate) key: u64,
    limit: u32,
    /// Drawn anew whenever the limit in the tables may have changed; 0: a slot without a gate.
    pub(crate) version: u32,
    /// How many it holds; of an idle gate the one before it in the list of idle gates.
    pub(crate) held_or_prev: u32,
    /// The first of its nodes; of an idle gate the next in the list.
    pub(crate) node_or_next: u32,
    pub(crate) index_next: u32,
    /// Of a tenant.
    pub(crate) weight: u16,
    pub(crate) kind: GateKind,
    pub(crate) bits: Bits,
}

const NO_LIMIT: u32 = u32::MAX;
const UNKNOWN_LIMIT: u32 = u32::MAX - 1;

const IDLE: u8 = 1;
const SLEEPS: u8 = 2;
const RAN_UNMETERED: u8 = 4;
const FAIR: u8 = 8;
const METERED: u8 = 16;

impl Slot for Gate {
    fn next(&self) -> u32 {
        self.index_next
    }
    fn set_next(&mut self, next: u32) {
        self.index_next = next;
    }
}

impl Gate {
    pub(crate) fn limit(&self) -> Limit {
        match self.limit {
            NO_LIMIT => Limit::None,
            UNKNOWN_LIMIT => Limit::Unknown,
            most => Limit::AtMost(most),
        }
    }

    pub(crate) fn set_limit(&mut self, limit: Limit) {
        self.limit = match limit {
            Limit::None => NO_LIMIT,
            Limit::Unknown => UNKNOWN_LIMIT,
            // More than can be counted.
            Limit::AtMost(most) if most >= UNKNOWN_LIMIT => NO_LIMIT,
            Limit::AtMost(most) => most,
        };
    }

    /// Committed running jobs plus what open transactions have reserved. Below 0 only during a rebuild,
    /// when a job's end was heard of before the job was read.
    pub(crate) fn held(&self) -> i32 {
        match self.is_idle() {
            true => 0,
            false => self.held_or_prev.cast_signed(),
        }
    }

    pub(crate) fn first_node(&self) -> u32 {
        match self.is_idle() {
            true => NONE,
            false => self.node_or_next,
        }
    }

    /// Nothing runs behind it and no lane waits for it.
    pub(crate) fn is_idle(&self) -> bool {
        self.bits.has(IDLE)
    }
    pub(crate) fn set_idle(&mut self, on: bool) {
        self.bits.set(IDLE, on);
    }

    /// Its rate or pause lets nothing start now.
    pub(crate) fn sleeps(&self) -> bool {
        self.bits.has(SLEEPS)
    }
    pub(crate) fn set_sleeps(&mut self, on: bool) {
        self.bits.set(SLEEPS, on);
    }

    /// Jobs have started of which no bucket knows.
    pub(crate) fn ran_unmetered(&self) -> bool {
        self.bits.has(RAN_UNMETERED)
    }
    pub(crate) fn set_ran_unmetered(&mut self) {
        self.bits.set(RAN_UNMETERED, true);
    }

    /// Of a queue: tenants share its starts by weight.
    pub(crate) fn is_fair(&self) -> bool {
        self.bits.has(FAIR)
    }
    pub(crate) fn set_fair(&mut self, on: bool) {
        self.bits.set(FAIR, on);
    }

    /// It has, or had, a rate, a pause or jobs that age.
    pub(crate) fn has_meter(&self) -> bool {
        self.bits.has(METERED)
    }
    pub(crate) fn set_has_meter(&mut self) {
        self.bits.set(METERED, true);
    }

    /// An unknown limit counts as room: who wants to use it has to read it first.
    pub(crate) fn room(&self) -> u32 {
        match self.limit() {
            Limit::AtMost(most) => {
                let most = most.saturating_add(u32::from(armed(Seeded::OneTooMany)));
                let room = i64::from(most) - i64::from(self.held());
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
        self.gates
            .find(key, |_, gate| gate.key == key && gate.kind == kind)
    }

    /// A node without a gate is always open.
    pub(crate) fn gate_is_open(&self, at: u32) -> Step<bool> {
        if at == NONE {
            return Ok(true);
        }
        let gate = self.gate(at)?;
        Ok(gate.room() > 0 && !gate.sleeps())
    }

    pub(crate) fn find_or_make_gate(&mut self, kind: GateKind, key: u64) -> Step<u32> {
        if let Some(at) = self.find_gate(kind, key)? {
            return Ok(at);
        }
        if self.gates.left() == 0 {
            self.forget_idle_gate()?;
        }
        let mut gate = Gate {
            key,
            kind,
            version: self.next_version(),
            weight: 1,
            ..Gate::default()
        };
        gate.set_limit(self.first_limit(kind));
        let at = self.gates.insert(gate, Some(key))?;
        self.rest_if_unused(at)?;
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

    pub(crate) fn hold_gate(&mut self, kind: GateKind, key: u64, count: u32) -> Step<()> {
        let at = self.find_or_make_gate(kind, key)?;
        self.hold_at(at, count)
    }

    pub(crate) fn hold_at(&mut self, at: u32, count: u32) -> Step<()> {
        let held = self.gate(at)?.held();
        let held = held
            .checked_add_unsigned(count)
            .ok_or(Fault::Corrupt("held"))?;
        self.set_held(at, held)
    }

    pub(crate) fn release_gate(&mut self, kind: GateKind, key: u64, count: u32) -> Step<()> {
        if count == 0 {
            return Ok(());
        }
        let at = self.find_or_make_gate(kind, key)?;
        let held = self.gate(at)?.held();
        let held = held
            .checked_sub_unsigned(count)
            .filter(|&held| held >= 0 || self.header.rebuilding)
            .ok_or(Fault::Corrupt("a gate gave back more than it held"))?;
        self.set_held(at, held)
    }

    fn set_held(&mut self, at: u32, held: i32) -> Step<()> {
        let was_open = self.gate_is_open(at)?;
        self.use_gate(at)?.held_or_prev = held.cast_unsigned();
        self.rest_if_unused(at)?;
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
        let mut node = self.gate(at)?.first_node();
        for _ in 0..=self.nodes.slots.len() {
            if node == NONE {
                return Ok(());
            }
            let next = self.node(node)?.gate_next;
            self.settle_place(node)?;
            node = next;
        }
        Err(CYCLE)
    }

    pub(crate) fn attach_to_gate(&mut self, at: u32, gate: u32) -> Step<()> {
        let next = std::mem::replace(&mut self.use_gate(gate)?.node_or_next, at);
        let node = self.node_mut(at)?;
        (node.gate, node.gate_next) = (gate, next);
        Ok(())
    }

    /// Nodes of one gate are as many as queues have lanes behind it, so finding the one before costs no more than what
    /// follows when the gate opens or closes.
    pub(crate) fn detach_from_gate(&mut self, at: u32) -> Step<()> {
        let node = self.node_mut(at)?;
        let (gate, next) = (std::mem::take(&mut node.gate), node.gate_next);
        if gate == NONE {
            return Ok(());
        }
        let mut before = self.gate(gate)?.first_node();
        if before == at {
            self.use_gate(gate)?.node_or_next = next;
            return self.rest_if_unused(gate);
        }
        for _ in 0..=self.nodes.slots.len() {
            let node = self.node_mut(before)?;
            if node.gate_next == at {
                node.gate_next = next;
                return Ok(());
            }
            before = node.gate_next;
        }
        Err(CYCLE)
    }

    /// Gates that can be made, counting those that nothing uses.
    pub(crate) fn gates_left(&self) -> usize {
        self.gates.left() + self.header.idle as usize
    }

    pub(crate) fn next_version(&mut self) -> u32 {
        // 0 stands for a slot without a gate.
        self.header.version = self.header.version.wrapping_add(1).max(1);
        self.header.version
    }
}
