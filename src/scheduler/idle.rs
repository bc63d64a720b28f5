//! Gates that nothing uses: a list in the order in which they fell idle.

use crate::{Fault, Gate, NONE, Scheduler, Step};

impl Scheduler<'_> {
    /// Gates that nothing uses keep their limit until the space is needed; the longest unused goes first.
    pub(crate) fn note_idleness(&mut self, at: u32) -> Step<()> {
        let gate = *self.gate(at)?;
        let idle = gate.held == 0 && gate.first_node == NONE;
        match (idle, gate.is_idle) {
            (true, false) => self.append_idle(at),
            (false, true) => self.unlink_idle(at),
            _ => Ok(()),
        }
    }

    fn append_idle(&mut self, at: u32) -> Step<()> {
        let last = std::mem::replace(&mut self.header.idle_last, at);
        if last == NONE {
            self.header.idle_first = at;
        } else {
            self.gate_mut(last)?.idle_next = at;
        }
        let gate = self.gate_mut(at)?;
        gate.is_idle = true;
        gate.idle_prev = last;
        gate.idle_next = NONE;
        self.header.idle = self.header.idle.saturating_add(1);
        Ok(())
    }

    fn unlink_idle(&mut self, at: u32) -> Step<()> {
        let Gate {
            idle_prev: prev,
            idle_next: next,
            ..
        } = *self.gate(at)?;
        match prev {
            NONE => self.header.idle_first = next,
            prev => self.gate_mut(prev)?.idle_next = next,
        }
        match next {
            NONE => self.header.idle_last = prev,
            next => self.gate_mut(next)?.idle_prev = prev,
        }
        let gate = self.gate_mut(at)?;
        gate.is_idle = false;
        gate.idle_prev = NONE;
        gate.idle_next = NONE;
        let idle = self.header.idle.checked_sub(1);
        self.header.idle = idle.ok_or(Fault::Corrupt("more idle gates than were counted"))?;
        Ok(())
    }

    pub(crate) fn forget_idle_gate(&mut self) -> Step<()> {
        match self.header.idle_first {
            NONE => Err(Fault::Full),
            at => {
                // If it was closed nobody hears when it opens.
                self.note_chance();
                self.unlink_idle(at)?;
                self.forget_meter(at)?;
                self.gates.remove(at)
            }
        }
    }

    /// Checks that the list of unused gates holds each of them once.
    pub(crate) fn audit_idle_gates(&self) -> Step<()> {
        let mut idle = 0;
        for at in self.gates.touched() {
            let gate = self.gate(at)?;
            let unused = gate.version != 0 && gate.held == 0 && gate.first_node == NONE;
            if gate.is_idle != unused {
                return Err(Fault::Corrupt("a gate's idleness is wrong"));
            }
            idle += u32::from(unused);
        }
        let (mut at, mut before) = (self.header.idle_first, NONE);
        for _ in 0..idle {
            let gate = self.gate(at)?;
            if !gate.is_idle || gate.idle_prev != before {
                return Err(Fault::Corrupt("the list of idle gates is broken"));
            }
            (at, before) = (gate.idle_next, at);
        }
        let ends = (at, before, self.header.idle) == (NONE, self.header.idle_last, idle);
        match ends {
            true => Ok(()),
            false => Err(Fault::Corrupt("the list of idle gates does not end")),
        }
    }
}
