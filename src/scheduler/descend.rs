//! From a queue down to its next lane, moving what is in the way.

use crate::faults::{Seeded, armed};
use crate::gate::MOST_GATES;
use crate::place::DEEPEST_NODE;
use crate::{EVERY_QUEUE, Entry, Fault, Kind, NONE, Scheduler, Step, UnknownGate};

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
        for _ in 0..self.entries.slots.len() {
            let entry = self.entry(queue)?;
            if entry.root == NONE || !self.gate_is_open(entry.gate)? {
                return Ok(Found::Nothing);
            }
            let (unit, lane) = self.first_unit(queue)?;
            let nodes = *self.entry(lane)?;
            if let Some(unknown) = self.unknown_gates(&nodes)? {
                return Ok(Found::Unknown(lane, unknown));
            }
            let is_closed = self.is_closed(&nodes)?;
            let in_doubt = self.entry(unit)?.is_mixed && !nodes.is_exact;
            if is_closed && in_doubt && !armed(Seeded::TrustDoubtfulHead) {
                return Ok(Found::Doubtful(lane));
            }
            if is_closed && armed(Seeded::StopAtClosedGate) {
                return Ok(Found::Nothing);
            }
            match self.bundle_to_move(unit, &nodes, is_closed)? {
                Some((bundle, place)) => self.move_bundle(bundle, place)?,
                None if is_closed => return Err(Fault::Corrupt("a closed gate was reached")),
                None => return Ok(Found::Lane(lane)),
            }
        }
        Err(Fault::Corrupt("a pick goes round in circles"))
    }

    /// The best unit (a lane without session, or a session) below a node, and its first lane.
    pub(crate) fn first_unit(&self, node: u32) -> Step<(u32, u32)> {
        let mut at = node;
        for _ in 0..DEEPEST_NODE {
            let entry = self.entry(at)?;
            match entry.kind {
                Kind::Lane => return Ok((at, at)),
                Kind::Session => return Ok((at, entry.root)),
                _ => at = entry.root,
            }
        }
        Err(Fault::Corrupt("the tree of places is too deep"))
    }

    fn is_closed(&self, lane: &Entry) -> Step<bool> {
        for node in lane.nodes() {
            if node != NONE && !self.gate_is_open(self.entry(node)?.gate)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The bundle on the way to a unit that was reached, if it is in the wrong place: at home while its key
    /// is closed; at its key although that is open, if its home is closed or its tenant is due later by now.
    fn bundle_to_move(&self, unit: u32, lane: &Entry, is_closed: bool) -> Step<Option<(u32, u32)>> {
        if lane.concurrency == NONE {
            return Ok(None);
        }
        let mut at = unit;
        for _ in 0..DEEPEST_NODE {
            let entry = self.entry(at)?;
            match entry.kind {
                Kind::Queue => return Ok(None),
                Kind::Bundle if entry.place == entry.home => {
                    return Ok(is_closed.then_some((at, entry.concurrency)));
                }
                Kind::Bundle => {
                    let tag = self.tag_of(entry, entry.rank.level)?;
                    let was_due = entry.rank.tag == tag || armed(Seeded::TrustOldTag);
                    let stays = was_due && !is_closed;
                    return Ok((!stays).then_some((at, entry.home)));
                }
                _ => at = entry.place,
            }
        }
        Err(Fault::Corrupt("the tree of places is too deep"))
    }

    pub(crate) fn unknown_gates(&self, lane: &Entry) -> Step<Option<[UnknownGate; MOST_GATES]>> {
        let mut unknown = [UnknownGate::default(); MOST_GATES];
        let mut any = false;
        for (slot, node) in unknown.iter_mut().zip(lane.nodes()) {
            if node == NONE {
                continue;
            }
            let gate = match self.entry(node)?.gate {
                NONE => continue,
                gate => self.gate(gate)?,
            };
            if gate.limit == crate::Limit::Unknown {
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
