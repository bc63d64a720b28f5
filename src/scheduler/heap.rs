//! A leftist heap threaded through the entries: O(log n) worst case for every step, no storage of its own.

use crate::faults::{Seeded, armed};
use crate::{Fault, NONE, Scheduler, Step};

/// Right spines of a leftist heap are logarithmic; anything deeper is a cycle.
const DEEPEST: u32 = 128;

impl Scheduler<'_> {
    pub(crate) fn heap_push(&mut self, node: u32, member: u32) -> Step<()> {
        let entry = self.entry_mut(member)?;
        if entry.place != NONE {
            return Err(Fault::Corrupt("an entry would be in two places"));
        }
        entry.place = node;
        entry.left = NONE;
        entry.right = NONE;
        entry.up = NONE;
        entry.distance = 1;
        let root = self.meld(self.entry(node)?.root, member, 0)?;
        self.entry_mut(root)?.up = NONE;
        self.entry_mut(node)?.root = root;
        Ok(())
    }

    pub(crate) fn heap_remove(&mut self, member: u32) -> Step<()> {
        let gone = *self.entry(member)?;
        let rest = self.meld(gone.left, gone.right, 0)?;
        if rest != NONE {
            self.entry_mut(rest)?.up = gone.up;
        }
        if gone.up == NONE {
            let node = self.entry_mut(gone.place)?;
            if node.root != member {
                return Err(Fault::Corrupt("a heap's root is not its top"));
            }
            node.root = rest;
        } else {
            let up = self.entry_mut(gone.up)?;
            if up.left == member {
                up.left = rest;
            } else if up.right == member {
                up.right = rest;
            } else {
                return Err(Fault::Corrupt("a heap's link is one-sided"));
            }
            self.restore_distances(gone.up)?;
        }
        let entry = self.entry_mut(member)?;
        entry.place = NONE;
        entry.left = NONE;
        entry.right = NONE;
        entry.up = NONE;
        Ok(())
    }

    fn meld(&mut self, a: u32, b: u32, depth: u32) -> Step<u32> {
        if a == NONE {
            return Ok(b);
        }
        if b == NONE {
            return Ok(a);
        }
        if depth > DEEPEST {
            return Err(Fault::Corrupt("a heap is too deep"));
        }
        let (rank_a, rank_b) = (self.entry(a)?.rank, self.entry(b)?.rank);
        let b_is_first = match armed(Seeded::IgnorePriority) {
            true => rank_b.head < rank_a.head,
            false => rank_b < rank_a,
        };
        let (top, other) = if b_is_first { (b, a) } else { (a, b) };
        let right = self.meld(self.entry(top)?.right, other, depth + 1)?;
        self.entry_mut(right)?.up = top;
        self.entry_mut(top)?.right = right;
        self.lean_left(top)?;
        Ok(top)
    }

    /// Puts the shallower child to the right; returns whether the distance changed.
    fn lean_left(&mut self, at: u32) -> Step<bool> {
        let entry = *self.entry(at)?;
        let (left, right) = (self.distance(entry.left)?, self.distance(entry.right)?);
        let entry_mut = self.entry_mut(at)?;
        if left < right {
            std::mem::swap(&mut entry_mut.left, &mut entry_mut.right);
        }
        entry_mut.distance = left.min(right).saturating_add(1);
        Ok(entry_mut.distance != entry.distance)
    }

    fn restore_distances(&mut self, from: u32) -> Step<()> {
        let mut at = from;
        for _ in 0..=self.entries.slots.len() {
            if at == NONE || !self.lean_left(at)? {
                return Ok(());
            }
            at = self.entry(at)?.up;
        }
        Err(Fault::Corrupt("a heap has a cycle"))
    }

    pub(crate) fn distance(&self, at: u32) -> Step<u8> {
        if at == NONE {
            return Ok(0);
        }
        Ok(self.entry(at)?.distance)
    }
}
