//! The rank of an entry decides which of two comes first.

use crate::memory::scheduler::Scheduler;
use crate::memory::step::Step;

/// Order of claims: least level first, then the tenant that is due, then least position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    /// The priority, less what was gained by waiting.
    pub level: i32,
    /// How much its tenant has had for its weight; among one tenant's own always 0.
    pub tag: u64,
    /// A lower bound of the lane's available positions.
    pub head: i64,
}

impl Scheduler<'_> {
    /// A lane's own rank; a node's copy of its best member's.
    pub(crate) fn rank(&self, at: u32) -> Step<Rank> {
        let entry = self.entry(at)?;
        let tag = match entry.is_tagged() {
            true => self.node(at)?.tag,
            false => 0,
        };
        Ok(Rank {
            level: entry.level,
            tag,
            head: entry.head,
        })
    }

    pub(crate) fn set_rank(&mut self, at: u32, rank: Rank) -> Step<()> {
        let entry = self.entry_mut(at)?;
        entry.level = rank.level;
        entry.head = rank.head;
        entry.set_tagged(rank.tag != 0);
        if rank.tag != 0 {
            self.node_mut(at)?.tag = rank.tag;
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn is_before(&self, a: u32, b: u32) -> Step<bool> {
        let (first, second) = (self.entry(a)?, self.entry(b)?);
        if first.is_tagged() || second.is_tagged() {
            return Ok(self.rank(a)? < self.rank(b)?);
        }
        Ok((first.level, first.head) < (second.level, second.head))
    }
}
