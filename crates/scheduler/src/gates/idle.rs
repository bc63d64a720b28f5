//! The list of gates that nothing uses, in the order in which they fell idle.

use crate::memory::gate::Gate;
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{Fault, NONE, Step};

impl Scheduler<'_> {
    /// Takes a gate that is about to be used out of the list.
    pub(crate) fn unlist_gate(&mut self, at: u32) -> Step<&mut Gate> {
        if self.gate(at)?.is_idle() {
            self.unlink_idle(at)?;
        }
        self.gate_mut(at)
    }

    /// Gates that nothing uses keep their settings until the space is needed. The one that is unused for
    /// longest goes first.
    pub(crate) fn list_if_idle(&mut self, at: u32) -> Step<()> {
        let gate = self.gate(at)?;
        if gate.is_idle() || (gate.held(), gate.first_node()) != (0, NONE) {
            return Ok(());
        }
        let last = std::mem::replace(&mut self.header.idle_gates.last, at);
        self.set_idle_after(last, at)?;
        let gate = self.gate_mut(at)?;
        gate.set_idle(true);
        (gate.held_or_prev, gate.node_or_next) = (last, NONE);
        self.header.idle_gates.count = self.header.idle_gates.count.saturating_add(1);
        Ok(())
    }

    fn unlink_idle(&mut self, at: u32) -> Step<()> {
        let gate = self.gate(at)?;
        let (before, behind) = (gate.held_or_prev, gate.node_or_next);
        self.set_idle_after(before, behind)?;
        match behind {
            NONE => self.header.idle_gates.last = before,
            behind => self.idle_gate_mut(behind)?.held_or_prev = before,
        }
        let gate = self.gate_mut(at)?;
        gate.set_idle(false);
        (gate.held_or_prev, gate.node_or_next) = (0, NONE);
        let idle = self.header.idle_gates.count.checked_sub(1);
        self.header.idle_gates.count =
            idle.ok_or(Fault::Corrupt("more idle gates than were counted"))?;
        Ok(())
    }

    fn set_idle_after(&mut self, before: u32, next: u32) -> Step<()> {
        match before {
            NONE => self.header.idle_gates.first = next,
            before => self.idle_gate_mut(before)?.node_or_next = next,
        }
        Ok(())
    }

    /// These fields mean something else for a gate in use.
    fn idle_gate_mut(&mut self, at: u32) -> Step<&mut Gate> {
        let gate = self.gate_mut(at)?;
        match gate.is_idle() {
            true => Ok(gate),
            false => Err(Fault::Corrupt("a gate in use is in the list of idle ones")),
        }
    }

    pub(crate) fn forget_idle_gate(&mut self) -> Step<()> {
        match self.header.idle_gates.first {
            NONE => Err(Fault::Full),
            at => self.forget_gate(at),
        }
    }

    /// Forgets the gate that has a meter and is unused for longest.
    pub(crate) fn forget_idle_meter(&mut self) -> Step<()> {
        let mut at = self.header.idle_gates.first;
        for _ in 0..self.header.idle_gates.count {
            let gate = self.gate(at)?;
            if gate.has_meter() {
                return self.forget_gate(at);
            }
            at = gate.node_or_next;
        }
        Err(Fault::Full)
    }

    /// Forgets all idle gates but those with a meter, whose buckets would begin empty again.
    pub(crate) fn forget_idle_gates(&mut self) -> Step<()> {
        let mut at = self.header.idle_gates.first;
        for _ in 0..self.header.idle_gates.count {
            let gate = *self.gate(at)?;
            if !gate.has_meter() {
                self.forget_gate(at)?;
            }
            at = gate.node_or_next;
        }
        Ok(())
    }

    fn forget_gate(&mut self, at: u32) -> Step<()> {
        // If the gate was closed, nothing tells when it opens.
        self.note_opening(at)?;
        self.unlink_idle(at)?;
        self.forget_meter(at)?;
        let key = self.gate(at)?.key;
        self.gates.remove(at, Some(key))
    }

    /// Checks that the list holds each unused gate once.
    pub(crate) fn audit_idle_gates(&self) -> Step<()> {
        let mut idle = 0;
        for at in self.gates.touched() {
            let gate = self.gate(at)?;
            let unused = gate.version != 0 && gate.held() == 0 && gate.first_node() == NONE;
            if gate.is_idle() != unused {
                return Err(Fault::Corrupt("a gate's idleness is wrong"));
            }
            idle += u32::from(unused);
        }
        let (mut at, mut before) = (self.header.idle_gates.first, NONE);
        for _ in 0..idle {
            let gate = self.gate(at)?;
            if !gate.is_idle() || gate.held_or_prev != before {
                return Err(Fault::Corrupt("the list of idle gates is broken"));
            }
            (at, before) = (gate.node_or_next, at);
        }
        let ends =
            (at, before, self.header.idle_gates.count) == (NONE, self.header.idle_gates.last, idle);
        match ends {
            true => Ok(()),
            false => Err(Fault::Corrupt("the list of idle gates does not end")),
        }
    }
}
