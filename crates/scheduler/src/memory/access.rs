//! Access to single slots of the arrays, and the lookups in their indexes.
//!
//! An entry of a lane has the number of the lane's slot. An entry of a node has that of the node's slot, marked by the
//! top bit. So lanes and nodes can come without end, and neither changes the numbers of the other.

use crate::memory::entry::{Entry, Kind};
use crate::memory::gate::{Gate, GateKind};
use crate::memory::lane::Lane;
use crate::memory::meter::Meter;
use crate::memory::node::{Node, index_key};
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{Fault, NONE, Step};

/// Marks the entries of nodes.
const NODE: u32 = 1 << 31;

impl Scheduler<'_> {
    pub(crate) fn entry(&self, at: u32) -> Step<&Entry> {
        #[cfg(feature = "fault_injection")]
        crate::testing::injection::look();
        let entry = match at & NODE {
            0 => self.lanes.beside.get(at as usize).filter(|_| at != NONE),
            _ => self.nodes.beside.get((at & !NODE) as usize),
        };
        entry.ok_or(Fault::Corrupt("slot"))
    }

    pub(crate) fn entry_mut(&mut self, at: u32) -> Step<&mut Entry> {
        #[cfg(feature = "fault_injection")]
        crate::testing::injection::touch();
        let entry = match at & NODE {
            0 => {
                let entries = &mut self.lanes.beside;
                entries.get_mut(at as usize).filter(|_| at != NONE)
            }
            _ => self.nodes.beside.get_mut((at & !NODE) as usize),
        };
        entry.ok_or(Fault::Corrupt("slot"))
    }

    /// No walk along entries is longer, unless it goes in a circle.
    pub(crate) fn entry_slots(&self) -> usize {
        self.lanes.beside.len() + self.nodes.beside.len()
    }

    pub(crate) fn node_slot(&self, at: u32) -> Step<u32> {
        match at & NODE {
            0 => Err(Fault::Corrupt("a lane is no node")),
            _ => Ok(at & !NODE),
        }
    }

    pub(crate) fn entry_of_node(&self, slot: u32) -> u32 {
        slot | NODE
    }

    /// Every entry that may be in use.
    pub(crate) fn touched_entries(&self) -> impl Iterator<Item = u32> + use<> {
        self.lanes.touched().chain(self.touched_nodes())
    }

    pub(crate) fn touched_nodes(&self) -> impl Iterator<Item = u32> + use<> {
        self.nodes.touched().map(|slot| slot | NODE)
    }

    pub(crate) fn lane(&self, at: u32) -> Step<&Lane> {
        #[cfg(feature = "fault_injection")]
        crate::testing::injection::look();
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

    /// Whether a lane with work may be missing in memory.
    pub fn has_lanes_outside(&self) -> bool {
        self.outside.pool.live > 0 || self.header.outside.everything.is_active()
    }

    pub(crate) fn find_lane(&self, key: u64) -> Step<Option<u32>> {
        self.lanes.find(key, |_, lane| lane.key == key)
    }

    pub(crate) fn is_lane(&self, at: u32) -> Step<bool> {
        Ok(self.entry(at)?.kind == Kind::Lane)
    }

    /// The stamp of when a lane was last lowered, marked as unverified, or made, if that was within the last
    /// 2^32 stamps.
    pub(crate) fn stamp_of(&self, lane: u32) -> Step<u64> {
        let now = self.header.stamp;
        let ago = (now as u32).wrapping_sub(self.lane(lane)?.stamp);
        Ok(now.wrapping_sub(u64::from(ago)))
    }

    /// A stamp comes again after so many others that no claim can take that long.
    pub(crate) fn next_stamp(&mut self) -> u32 {
        self.header.stamp = self.header.stamp.wrapping_add(1);
        self.header.stamp as u32
    }

    pub(crate) fn node(&self, at: u32) -> Step<&Node> {
        #[cfg(feature = "fault_injection")]
        crate::testing::injection::look();
        self.nodes.get(self.node_slot(at)?)
    }

    pub(crate) fn node_mut(&mut self, at: u32) -> Step<&mut Node> {
        #[cfg(feature = "fault_injection")]
        crate::testing::injection::touch();
        let slot = self.node_slot(at)?;
        self.nodes.get_mut(slot)
    }

    /// `behind` is the gate, or for a key group the node of the concurrency key. `above` is the next node
    /// above.
    pub(crate) fn find_node(&self, kind: Kind, behind: u32, above: u32) -> Step<Option<u32>> {
        let Some(key) = index_key(kind, behind, above) else {
            let first = self.gate(behind)?.first_node();
            return Ok((first != NONE).then_some(first));
        };
        let found = self.nodes.find(key, |slot, node| {
            let entry = self.entry(self.entry_of_node(slot));
            let known_by = match kind {
                Kind::KeyGroup => node.other,
                _ => node.gate,
            };
            known_by == behind && entry.is_ok_and(|it| (it.kind, it.home) == (kind, above))
        })?;
        Ok(found.map(|slot| self.entry_of_node(slot)))
    }

    /// The arguments with which [`Self::find_node`] finds the node.
    pub(crate) fn identity(&self, at: u32) -> Step<(Kind, u32, u32)> {
        let (entry, node) = (self.entry(at)?, self.node(at)?);
        Ok(match entry.kind {
            Kind::KeyGroup => (Kind::KeyGroup, node.other, entry.home),
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
        #[cfg(feature = "fault_injection")]
        crate::testing::injection::look();
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
        Ok(gate.room() > 0 && !gate.is_throttled())
    }

    /// The slot of a gate's meter, found by the slot of the gate. So gates without a meter need no space for
    /// it.
    pub(crate) fn meter_slot(&self, gate: u32) -> Step<u32> {
        if !self.gate(gate)?.has_meter() {
            return Ok(NONE);
        }
        let found = self.meters.find(u64::from(gate), |_, it| it.gate == gate)?;
        found.ok_or(Fault::Corrupt("a gate's meter is missing"))
    }

    pub(crate) fn meter_of(&self, gate: u32) -> Step<Option<&Meter>> {
        match self.meter_slot(gate)? {
            NONE => Ok(None),
            meter => self.meters.get(meter).map(Some),
        }
    }
}
