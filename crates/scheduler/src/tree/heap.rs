//! A leftist heap that is threaded through the entries: O(log n) in the worst case for every step, with no storage of its own.
//!
//! Each entry stores its left child's distance beside its own, which is one more than its right child's. So no step
//! looks at an entry that is not on its path.
//!
//! Most members come with the last rank of all, because positions ascend. A member that ranks after the member that came
//! last is linked below that one if nothing else is. A heap to which only such members come is a list.

use crate::memory::entry::{Entry, Kind};
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{Fault, NONE, Step};
use crate::testing::faults::{Seeded, armed};

/// The right spines of a leftist heap are logarithmic. Anything deeper is a cycle.
const MAX_DEPTH: u32 = 128;
const TOO_DEEP: Fault = Fault::Corrupt("a heap is too deep");

impl Entry {
    /// Puts the shallower child to the right. Returns whether the distance changed.
    fn lean_left(&mut self, left: u8, right: u8) -> bool {
        if left < right {
            std::mem::swap(&mut self.left, &mut self.right);
        }
        self.left_distance = left.max(right);
        let distance = left.min(right).saturating_add(1);
        std::mem::replace(&mut self.distance, distance) != distance
    }
}

impl Scheduler<'_> {
    pub(crate) fn heap_push(&mut self, node: u32, member: u32) -> Step<()> {
        if self.entry(member)?.is_placed() {
            return Err(Fault::Corrupt("an entry would be in two places"));
        }
        let leaf = self.last_leaf(node)?;
        self.set_place(member, node)?;
        let entry = self.entry_mut(member)?;
        (entry.left, entry.right, entry.up) = (NONE, NONE, NONE);
        (entry.distance, entry.left_distance) = (1, 0);
        if leaf != NONE && self.in_order(leaf, member)?.0 == leaf {
            self.entry_mut(member)?.up = leaf;
            let leaf = self.entry_mut(leaf)?;
            (leaf.left, leaf.left_distance) = (member, 1);
        } else {
            let root = self.meld(self.node(node)?.root, member)?;
            self.entry_mut(root)?.up = NONE;
            self.node_mut(node)?.root = root;
        }
        self.note_last(node, member)
    }

    /// The member that came last, if it is still in the heap and has no children.
    fn last_leaf(&self, node: u32) -> Step<u32> {
        let last = match self.notes_last(node)? {
            true => self.node(node)?.other,
            false => NONE,
        };
        // A member that is gone may have had a slot that is gone, too.
        let Ok(entry) = self.entry(last) else {
            return Ok(NONE);
        };
        let is_leaf = entry.is_placed() && (entry.left, entry.right) == (NONE, NONE);
        Ok(match is_leaf && self.place(last)? == node {
            true => last,
            false => NONE,
        })
    }

    fn note_last(&mut self, node: u32, member: u32) -> Step<()> {
        if self.notes_last(node)? {
            self.node_mut(node)?.other = member;
        }
        Ok(())
    }

    /// Sessions and key groups use that field for something else, and have few members.
    fn notes_last(&self, node: u32) -> Step<bool> {
        Ok(!matches!(
            self.entry(node)?.kind,
            Kind::Session | Kind::KeyGroup
        ))
    }

    pub(crate) fn heap_remove(&mut self, member: u32) -> Step<()> {
        let gone = *self.entry(member)?;
        let rest = self.meld(gone.left, gone.right)?;
        if rest != NONE {
            self.entry_mut(rest)?.up = gone.up;
        }
        if gone.up == NONE {
            let place = self.place(member)?;
            let node = self.node_mut(place)?;
            if node.root != member {
                return Err(Fault::Corrupt("a heap's root is not its top"));
            }
            node.root = rest;
        } else {
            self.replace_child(gone.up, member, rest)?;
        }
        let entry = self.entry_mut(member)?;
        entry.set_placed(false);
        (entry.left, entry.right, entry.up) = (NONE, NONE, NONE);
        Ok(())
    }

    /// Merges the right spines going down, and sets the distances going back up.
    fn meld(&mut self, a: u32, b: u32) -> Step<u32> {
        if a == NONE || b == NONE {
            return Ok(a.max(b));
        }
        let (root, mut other) = self.in_order(a, b)?;
        let mut top = root;
        for _ in 0..MAX_DEPTH {
            let right = self.entry(top)?.right;
            if right == NONE {
                self.link_right(top, other)?;
                self.lean_up(top, root)?;
                return Ok(root);
            }
            let (first, second) = self.in_order(right, other)?;
            if first != right {
                self.link_right(top, first)?;
            }
            (top, other) = (first, second);
        }
        Err(TOO_DEEP)
    }

    fn in_order(&self, a: u32, b: u32) -> Step<(u32, u32)> {
        let b_is_first = match armed(Seeded::IgnorePriority) {
            true => self.entry(b)?.head < self.entry(a)?.head,
            false => self.is_before(b, a)?,
        };
        Ok(if b_is_first { (b, a) } else { (a, b) })
    }

    fn link_right(&mut self, at: u32, child: u32) -> Step<()> {
        self.entry_mut(child)?.up = at;
        self.entry_mut(at)?.right = child;
        Ok(())
    }

    /// Goes from the end of a right spine up to its root. Each entry is the right child of the next.
    fn lean_up(&mut self, from: u32, root: u32) -> Step<()> {
        let mut at = from;
        let mut right_distance = self.distance(self.entry(at)?.right)?;
        for _ in 0..=MAX_DEPTH {
            let entry = self.entry_mut(at)?;
            entry.lean_left(entry.left_distance, right_distance);
            if at == root {
                return Ok(());
            }
            (right_distance, at) = (entry.distance, entry.up);
        }
        Err(TOO_DEEP)
    }

    /// Updates the distances above as far as they change.
    fn replace_child(&mut self, parent: u32, child: u32, by: u32) -> Step<()> {
        let (mut at, mut old, mut new) = (parent, child, by);
        for _ in 0..=self.entry_slots() {
            if at == NONE || !self.set_child(at, old, new)? {
                return Ok(());
            }
            (old, new, at) = (at, at, self.entry(at)?.up);
        }
        Err(Fault::Corrupt("a heap has a cycle"))
    }

    fn set_child(&mut self, at: u32, old: u32, new: u32) -> Step<bool> {
        let distance = self.distance(new)?;
        let entry = self.entry_mut(at)?;
        let (mut left, mut right) = (entry.left_distance, entry.distance.saturating_sub(1));
        if entry.left == old {
            (entry.left, left) = (new, distance);
        } else if entry.right == old {
            (entry.right, right) = (new, distance);
        } else {
            return Err(Fault::Corrupt("a heap's link is one-sided"));
        }
        Ok(entry.lean_left(left, right))
    }

    pub(crate) fn distance(&self, at: u32) -> Step<u8> {
        if at == NONE {
            return Ok(0);
        }
        Ok(self.entry(at)?.distance)
    }
}
