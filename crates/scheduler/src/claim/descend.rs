//! Descends from a queue to its next lane, and moves what is in the wrong place.

use crate::gates::settings::UnknownGate;
use crate::memory::entry::Kind;
use crate::memory::gate::MOST_GATES;
use crate::memory::lane::EVERY_QUEUE;
use crate::memory::path::DEEPEST_NODE;
use crate::memory::path::Gates;
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{Fault, NONE, Step};
use crate::testing::faults::{Seeded, armed};

/// Where the descent from a queue ended.
pub(crate) enum Found {
    Nothing,
    Unknown(u32, [UnknownGate; MOST_GATES]),
    Lane(u32),
    /// A lane that may not run, and whose head is in doubt.
    Doubtful(u32),
}

impl Found {
    pub(crate) fn lane(&self) -> Option<u32> {
        match *self {
            Found::Nothing => None,
            Found::Unknown(lane, _) | Found::Lane(lane) | Found::Doubtful(lane) => Some(lane),
        }
    }
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
        // Each turn but the last moves one bundle below a closed gate or home, so they are no more than entries.
        for _ in 0..self.entries.len() {
            let node = self.node(queue)?;
            if node.root == NONE || !self.gate_is_open(node.gate)? {
                return Ok(Found::Nothing);
            }
            let (unit, lane) = self.first_unit(queue)?;
            let way = self.way_of(lane)?;
            let gates = self.gates_of(&way)?;
            if let Some(unknown) = self.unknown_gates(&gates)? {
                return Ok(Found::Unknown(lane, unknown));
            }
            let is_closed = self.is_any_closed(&gates)?;
            let in_doubt = self.entry(unit)?.is_mixed() && !self.entry(lane)?.is_exact();
            if is_closed && in_doubt && !armed(Seeded::TrustDoubtfulHead) {
                return Ok(Found::Doubtful(lane));
            }
            if is_closed && armed(Seeded::StopAtClosedGate) {
                return Ok(Found::Nothing);
            }
            match self.bundle_to_move(unit, way.bundle, is_closed)? {
                Some((bundle, place)) => self.move_bundle(bundle, place)?,
                None if is_closed => return Err(Fault::Corrupt("a closed gate was reached")),
                None => return Ok(Found::Lane(lane)),
            }
        }
        Err(Fault::Corrupt("a pick goes round in circles"))
    }

    fn is_any_closed(&self, gates: &Gates) -> Step<bool> {
        for &gate in gates {
            if !self.gate_is_open(gate)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The bundle on the way to a unit that was reached, if it is in the wrong place: at home while its key
    /// is closed; at its key although that is open, if its home is closed or its tenant is due later by now.
    fn bundle_to_move(&self, unit: u32, bundle: u32, is_closed: bool) -> Step<Option<(u32, u32)>> {
        if bundle == NONE {
            return Ok(None);
        }
        let mut at = unit;
        for _ in 0..DEEPEST_NODE {
            let entry = self.entry(at)?;
            match entry.kind {
                Kind::Queue => return Ok(None),
                Kind::Bundle if !entry.is_away() => {
                    return Ok(is_closed.then_some((at, self.node(at)?.other)));
                }
                Kind::Bundle => {
                    let tag = self.tag_of(at, entry.level)?;
                    let was_due = self.rank(at)?.tag == tag || armed(Seeded::TrustOldTag);
                    let stays = was_due && !is_closed;
                    return Ok((!stays).then_some((at, entry.home)));
                }
                _ => at = self.place(at)?,
            }
        }
        Err(Fault::Corrupt("the tree of places is too deep"))
    }

    pub(crate) fn unknown_gates(&self, gates: &Gates) -> Step<Option<[UnknownGate; MOST_GATES]>> {
        let mut unknown = [UnknownGate::default(); MOST_GATES];
        let mut any = false;
        for (slot, &at) in unknown.iter_mut().zip(gates) {
            if at == NONE {
                continue;
            }
            let gate = self.gate(at)?;
            if gate.limit() == crate::Limit::Unknown {
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
