//! Access to single slots of the arrays, and the lookups in their indexes.
//!
//! Entries are numbered through: those of lanes come first, those of nodes follow.

use crate::memory::entry::{Entry, Kind};
use crate::memory::gate::{Gate, GateKind};
use crate::memory::lane::Lane;
use crate::memory::meter::Meter;
use crate::memory::node::Node;
use crate::memory::overflow::HEARD;
use crate::memory::overflow::place_of_key;
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{Fault, NONE, Step};
use crate::testing::faults::{Seeded, armed};

/// By what the index finds it; none where the gate is enough.
pub(crate) fn index_key(kind: Kind, behind: u32, above: u32) -> Option<u64> {
    match kind {
        Kind::Queue | Kind::Session => None,
        _ => Some(u64::from(behind) << 32 | u64::from(above) ^ (kind as u64) << 56),
    }
}

impl Scheduler<'_> {
    pub(crate) fn entry(&self, at: u32) -> Step<&Entry> {
        self.entries
            .get(at as usize)
            .filter(|_| at != NONE)
            .ok_or(Fault::Corrupt("slot"))
    }

    pub(crate) fn entry_mut(&mut self, at: u32) -> Step<&mut Entry> {
        #[cfg(feature = "fault_injection")]
        crate::testing::injection::touch();
        self.entries
            .get_mut(at as usize)
            .filter(|_| at != NONE)
            .ok_or(Fault::Corrupt("slot"))
    }

    /// The number of entries that stand for lanes; the nodes' come after them.
    fn lane_entries(&self) -> u32 {
        u32::try_from(self.lanes.slots.len()).unwrap_or(u32::MAX)
    }

    pub(crate) fn node_slot(&self, at: u32) -> Step<u32> {
        at.checked_sub(self.lane_entries())
            .ok_or(Fault::Corrupt("a lane is no node"))
    }

    pub(crate) fn entry_of_node(&self, slot: u32) -> u32 {
        slot.saturating_add(self.lane_entries())
    }

    /// Every entry that was ever in use.
    pub(crate) fn touched_entries(&self) -> impl Iterator<Item = u32> + use<> {
        self.lanes.touched().chain(self.touched_nodes())
    }

    pub(crate) fn touched_nodes(&self) -> impl Iterator<Item = u32> + use<> {
        let before = self.lane_entries();
        self.nodes
            .touched()
            .map(move |slot| slot.saturating_add(before))
    }

    pub(crate) fn lane(&self, at: u32) -> Step<&Lane> {
        self.lanes.get(at)
    }

    pub(crate) fn lane_mut(&mut self, at: u32) -> Step<&mut Lane> {
        #[cfg(feature = "fault_injection")]
        crate::testing::injection::touch();
        self.lanes.get_mut(at)
    }

    pub fn lane_count(&self) -> u32 {
        self.lanes.pool.live
    }

    pub(crate) fn find_lane(&self, key: u64) -> Step<Option<u32>> {
        self.lanes.find(key, |_, lane| lane.key == key)
    }

    pub(crate) fn is_lane(&self, at: u32) -> Step<bool> {
        Ok(self.entry(at)?.kind == Kind::Lane)
    }

    /// When a lane was last lowered, doubted or made, if that was within the last 2^32 stamps.
    pub(crate) fn stamp_of(&self, lane: u32) -> Step<u64> {
        let now = self.header.stamp;
        let ago = (now as u32).wrapping_sub(self.lane(lane)?.stamp);
        Ok(now.wrapping_sub(u64::from(ago)))
    }

    /// The same comes again after so many that no claim can take that long.
    pub(crate) fn next_stamp(&mut self) -> u32 {
        self.header.stamp = self.header.stamp.wrapping_add(1);
        self.header.stamp as u32
    }

    pub(crate) fn node(&self, at: u32) -> Step<&Node> {
        self.nodes.get(self.node_slot(at)?)
    }

    pub(crate) fn node_mut(&mut self, at: u32) -> Step<&mut Node> {
        #[cfg(feature = "fault_injection")]
        crate::testing::injection::touch();
        let slot = self.node_slot(at)?;
        self.nodes.get_mut(slot)
    }

    /// `behind` is the gate, of a bundle the node of the key; `above` the next node above.
    pub(crate) fn find_node(&self, kind: Kind, behind: u32, above: u32) -> Step<Option<u32>> {
        let Some(key) = index_key(kind, behind, above) else {
            let first = self.gate(behind)?.first_node();
            return Ok((first != NONE).then_some(first));
        };
        let found = self.nodes.find(key, |slot, node| {
            let entry = self.entry(self.entry_of_node(slot));
            let known_by = match kind {
                Kind::Bundle => node.other,
                _ => node.gate,
            };
            known_by == behind && entry.is_ok_and(|it| (it.kind, it.home) == (kind, above))
        })?;
        Ok(found.map(|slot| self.entry_of_node(slot)))
    }

    /// What [`Self::find_node`] finds it by.
    pub(crate) fn identity(&self, at: u32) -> Step<(Kind, u32, u32)> {
        let (entry, node) = (self.entry(at)?, self.node(at)?);
        Ok(match entry.kind {
            Kind::Bundle => (Kind::Bundle, node.other, entry.home),
            Kind::Session => (Kind::Session, node.gate, node.other),
            kind => (kind, node.gate, entry.home),
        })
    }

    pub(crate) fn find_queue(&self, queue: u64) -> Step<Option<u32>> {
        match self.find_gate(GateKind::Queue, queue)? {
            Some(gate) => self.find_node(Kind::Queue, gate, NONE),
            None => Ok(None),
        }
    }

    pub(crate) fn gate(&self, at: u32) -> Step<&Gate> {
        self.gates.get(at)
    }

    pub(crate) fn gate_mut(&mut self, at: u32) -> Step<&mut Gate> {
        #[cfg(feature = "fault_injection")]
        crate::testing::injection::touch();
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

    /// The slot of a gate's clockwork, found by the gate's own: only gates that have one pay for it.
    pub(crate) fn meter_slot(&self, gate: u32) -> Step<u32> {
        if !self.gate(gate)?.has_meter() {
            return Ok(NONE);
        }
        let found = self.meters.find(u64::from(gate), |_, it| it.gate == gate)?;
        found.ok_or(Fault::Corrupt("a gate's clockwork is gone"))
    }

    pub(crate) fn meter_of(&self, gate: u32) -> Step<Option<&Meter>> {
        match self.meter_slot(gate)? {
            NONE => Ok(None),
            meter => self.meters.get(meter).map(Some),
        }
    }

    /// Whether a lane with work may be missing.
    pub fn has_overflow(&self) -> bool {
        self.header.overflow.spilled || self.header.overflow.in_round
    }

    /// What is missing may have become able to run.
    pub(crate) fn note_chance(&mut self) {
        if !armed(Seeded::MissChances) {
            self.header.overflow.chances = self.header.overflow.chances.wrapping_add(1);
        }
    }

    /// A job of the lane has become available: what was read of it before is outdated.
    pub(crate) fn note_heard(&mut self, lane: u64) {
        let stamp = self.header.stamp;
        if let Some(heard) = self
            .header
            .overflow
            .heard
            .get_mut(place_of_key(lane, HEARD))
        {
            *heard = stamp;
        }
    }

    pub(crate) fn heard_of(&self, lane: u64) -> u64 {
        let outside = &self.header.overflow;
        let heard = outside.heard.get(place_of_key(lane, HEARD)).copied();
        heard.unwrap_or(u64::MAX).max(outside.heard_since)
    }
}
