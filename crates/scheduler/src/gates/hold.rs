//! How many jobs a gate holds.
//!
//! When a gate closes or opens, its nodes leave the heaps of their parents or come back to them. When it opens, lanes outside
//! may have waited for it.

use crate::gates::gate::CYCLE;
use crate::memory::gate::GateKind;
use crate::memory::lane::LaneSpec;
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{Fault, NONE, Step};
use crate::testing::faults::{Seeded, armed};

/// Room that the calling transaction gives back when it commits, and may use itself before that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credit {
    pub kind: GateKind,
    pub key: u64,
    pub count: u32,
}

impl Scheduler<'_> {
    /// Adds `count` to what every gate of the lane holds, whatever their limits are.
    pub fn hold(&mut self, spec: &LaneSpec, count: u32) -> Step<()> {
        if count == 0 {
            return Ok(());
        }
        for (kind, key) in spec.gates() {
            self.hold_gate(kind, key, count)?;
        }
        Ok(())
    }

    /// Takes `count` from what every gate of the lane holds.
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
        self.unlist_gate(at)?.held_or_prev = held.cast_unsigned();
        self.list_if_idle(at)?;
        self.update_nodes_of(at, was_open)
    }

    /// If the gate has closed or opened, takes its nodes out of the heaps of their parents or puts them back.
    pub(crate) fn update_nodes_of(&mut self, at: u32, was_open: bool) -> Step<()> {
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
            self.note_opening(at)?;
        }
        self.update_all_nodes_of(at)
    }

    /// A gate opens, or is forgotten. Lanes outside may wait for it.
    pub(crate) fn note_opening(&mut self, at: u32) -> Step<()> {
        if !self.gate(at)?.is_awaited() || self.is_lending {
            return Ok(());
        }
        self.gate_mut(at)?.set_awaited(false);
        if armed(Seeded::MissRunnableChange) {
            return Ok(());
        }
        let gate = *self.gate(at)?;
        self.header.outside.note_opening(&gate);
        Ok(())
    }

    pub(crate) fn update_all_nodes_of(&mut self, gate: u32) -> Step<()> {
        let mut node = self.gate(gate)?.first_node();
        for _ in 0..=self.nodes.slots.len() {
            if node == NONE {
                return Ok(());
            }
            let next = self.node(node)?.gate_next;
            self.update_place(node)?;
            node = next;
        }
        Err(CYCLE)
    }
}
