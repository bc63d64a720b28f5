//! Gates are made when a lane or a job first needs them. Each gate lists its nodes.

use crate::memory::gate::{Gate, GateKind};
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{Fault, NONE, Step};

pub(crate) const CYCLE: Fault = Fault::Corrupt("a gate's list has a cycle");

impl Scheduler<'_> {
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
        gate.set_limit(self.initial_limit(kind));
        let at = self.gates.insert(gate, Some(key))?;
        self.list_if_idle(at)?;
        Ok(at)
    }

    pub(crate) fn attach_to_gate(&mut self, at: u32, gate: u32) -> Step<()> {
        let next = std::mem::replace(&mut self.unlist_gate(gate)?.node_or_next, at);
        if next != NONE {
            self.node_mut(next)?.gate_prev = at;
        }
        let node = self.node_mut(at)?;
        (node.gate, node.gate_next) = (gate, next);
        Ok(())
    }

    pub(crate) fn detach_from_gate(&mut self, at: u32) -> Step<()> {
        let node = *self.node(at)?;
        if node.gate == NONE {
            return Ok(());
        }
        if node.gate_next != NONE {
            self.node_mut(node.gate_next)?.gate_prev = node.gate_prev;
        }
        self.node_mut(at)?.gate = NONE;
        if node.gate_prev != NONE {
            self.node_mut(node.gate_prev)?.gate_next = node.gate_next;
            return Ok(());
        }
        if self.gate(node.gate)?.first_node() != at {
            return Err(Fault::Corrupt("a gate's list begins elsewhere"));
        }
        self.unlist_gate(node.gate)?.node_or_next = node.gate_next;
        self.list_if_idle(node.gate)
    }

    /// The number of gates that can be made, including those that nothing uses.
    pub(crate) fn gates_left(&self) -> usize {
        self.gates.left() + self.header.idle_gates.count as usize
    }

    pub(crate) fn next_version(&mut self) -> u32 {
        // 0 stands for a slot without a gate.
        self.header.settings.version = self.header.settings.version.wrapping_add(1).max(1);
        self.header.settings.version
    }
}
