//! Whether the first lane of a queue is next: whether it may run, and nothing above it is in the wrong place.

use crate::memory::entry::Kind;
use crate::memory::gate::Limit;
use crate::memory::path::{Gates, MAX_NODE_DEPTH};
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{Fault, NONE, Step};
use crate::testing::faults::{Seeded, armed};

impl Scheduler<'_> {
    /// Whether a descent would end at the first lane of a queue, and could run it.
    pub(crate) fn is_first_next(&self, queue: u32) -> Step<bool> {
        if self.node(queue)?.root == NONE {
            return Ok(false);
        }
        let (unit, lane) = self.first_unit(queue)?;
        let path = self.path_of(lane)?;
        let gates = self.gates_of(&path)?;
        if self.is_any_unknown(&gates)? || self.is_any_closed(&gates)? {
            return Ok(false);
        }
        let to_move = self.key_group_to_move(unit, path.key_group, false)?;
        Ok(to_move.is_none())
    }

    fn is_any_unknown(&self, gates: &Gates) -> Step<bool> {
        for &gate in gates.iter().filter(|&&gate| gate != NONE) {
            if self.gate(gate)?.limit() == Limit::Unknown {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(crate) fn is_any_closed(&self, gates: &Gates) -> Step<bool> {
        for &gate in gates {
            if !self.gate_is_open(gate)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The key group on the path to a unit that was reached, if it is in the wrong place: at home while its
    /// key is closed, or at its key while its home is closed or its tenant is due later by now.
    pub(crate) fn key_group_to_move(
        &self,
        unit: u32,
        key_group: u32,
        is_closed: bool,
    ) -> Step<Option<(u32, u32)>> {
        if key_group == NONE {
            return Ok(None);
        }
        let mut at = unit;
        for _ in 0..MAX_NODE_DEPTH {
            let entry = self.entry(at)?;
            match entry.kind {
                Kind::Queue => return Ok(None),
                Kind::KeyGroup if !entry.is_away() => {
                    return Ok(is_closed.then_some((at, self.node(at)?.other)));
                }
                Kind::KeyGroup => {
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
}
