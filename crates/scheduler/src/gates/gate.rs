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
        gate.set_limit(self.first_limit(kind));
        let at = self.gates.insert(gate, Some(key))?;
        self.rest_if_unused(at)?;
        Ok(at)
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
        self.gates.left() + self.header.idle_gates.count as usize
    }

    pub(crate) fn next_version(&mut self) -> u32 {
        // 0 stands for a slot without a gate.
        self.header.settings.version = self.header.settings.version.wrapping_add(1).max(1);
        self.header.settings.version
    }
}
