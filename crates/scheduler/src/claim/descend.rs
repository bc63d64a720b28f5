//! Descends from a queue to its next lane, and moves what is in the wrong place.

use crate::gates::settings::UnknownGate;
use crate::memory::gate::{Limit, MAX_GATES};
use crate::memory::lane::EVERY_QUEUE;
use crate::memory::path::Gates;
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{Fault, NONE, Step};
use crate::testing::faults::{Seeded, armed};

/// Where the descent from a queue ended.
pub(crate) enum Found {
    Nothing,
    Unknown(u32, [UnknownGate; MAX_GATES]),
    Lane(u32),
    /// A lane that may not run, and whose head may be gone.
    Unverified(u32),
}

impl Scheduler<'_> {
    pub(crate) fn descend(&mut self, queue: u64) -> Step<Found> {
        if queue == EVERY_QUEUE {
            return self.descend_from_all();
        }
        match self.find_queue(queue)? {
            Some(queue) => self.descend_from(queue),
            None => Ok(Found::Nothing),
        }
    }

    pub(crate) fn descend_from(&mut self, queue: u32) -> Step<Found> {
        // Each turn but the last moves one key group below a closed key or home. So there are no more turns
        // than entries.
        for _ in 0..self.entry_slots() {
            let node = self.node(queue)?;
            if node.root == NONE || !self.gate_is_open(node.gate)? {
                return Ok(Found::Nothing);
            }
            let (unit, lane) = self.first_unit(queue)?;
            let path = self.path_of(lane)?;
            let gates = self.gates_of(&path)?;
            if let Some(unknown) = self.unknown_gates(&gates)? {
                return Ok(Found::Unknown(lane, unknown));
            }
            let is_closed = self.is_any_closed(&gates)?;
            let is_unverified = self.entry(unit)?.is_mixed() && !self.entry(lane)?.is_verified();
            if is_closed && is_unverified && !armed(Seeded::TrustUnverifiedHead) {
                return Ok(Found::Unverified(lane));
            }
            if is_closed && armed(Seeded::StopAtClosedGate) {
                return Ok(Found::Nothing);
            }
            match self.key_group_to_move(unit, path.key_group, is_closed)? {
                Some((key_group, place)) => self.move_key_group(key_group, place)?,
                None if is_closed => return Err(Fault::Corrupt("a closed gate was reached")),
                None => return Ok(Found::Lane(lane)),
            }
        }
        Err(Fault::Corrupt("a pick goes round in circles"))
    }

    pub(crate) fn unknown_gates(&self, gates: &Gates) -> Step<Option<[UnknownGate; MAX_GATES]>> {
        let mut unknown = [UnknownGate::default(); MAX_GATES];
        let mut any = false;
        for (slot, &at) in unknown.iter_mut().zip(gates) {
            if at == NONE {
                continue;
            }
            let gate = self.gate(at)?;
            if gate.limit() == Limit::Unknown {
                *slot = UnknownGate {
                    kind: gate.kind,
                    key: gate.key,
                    version: gate.version,
                };
                any = true;
            }
        }
        Ok(any.then_some(unknown))
    }
}
