//! A leftist heap that is threaded through its members: O(log n) in the worst case for every step, with no storage of its own.
//!
//! Each member stores its left child's distance beside its own, which is one more than its right child's. So no step
//! looks at a member that is not on its path.

use crate::memory::step::{Fault, NONE, Step};

/// The right spines of a leftist heap are logarithmic. Anything deeper is a cycle.
const MAX_DEPTH: u32 = 128;
const TOO_DEEP: Fault = Fault::Corrupt("a heap is too deep");
const ONE_SIDED: Fault = Fault::Corrupt("a heap's link is one-sided");

/// What a member knows of its heap.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Links {
    pub left: u32,
    pub right: u32,
    pub up: u32,
    /// The distance to the nearest free child, and that of the left child.
    pub distance: u8,
    pub left_distance: u8,
}

impl Links {
    /// Of a heap of one.
    pub const ALONE: Self = Self {
        left: NONE,
        right: NONE,
        up: NONE,
        distance: 1,
        left_distance: 0,
    };

    pub fn is_leaf(&self) -> bool {
        (self.left, self.right) == (NONE, NONE)
    }

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

pub(crate) trait Member {
    fn links(&self) -> Links;
    fn set_links(&mut self, links: Links);

    fn change_links<R>(&mut self, change: impl FnOnce(&mut Links) -> R) -> R {
        let mut links = self.links();
        let result = change(&mut links);
        self.set_links(links);
        result
    }

    /// It is in no heap.
    fn cut_links(&mut self) {
        self.change_links(|links| (links.left, links.right, links.up) = (NONE, NONE, NONE));
    }
}

/// Where the members of heaps are stored.
pub(crate) trait Leftist {
    type Member: Member;

    fn member(&self, at: u32) -> Step<&Self::Member>;
    fn member_mut(&mut self, at: u32) -> Step<&mut Self::Member>;
    /// Whether one ranks before another.
    fn ranks_before(&self, a: u32, b: u32) -> Step<bool>;
    /// How many slots there are.
    fn slots(&self) -> usize;

    fn in_order(&self, a: u32, b: u32) -> Step<(u32, u32)> {
        Ok(match self.ranks_before(b, a)? {
            true => (b, a),
            false => (a, b),
        })
    }

    /// Links a member that was just made [`Links::ALONE`] below one without children that ranks before it.
    fn hang_below(&mut self, leaf: u32, member: u32) -> Step<()> {
        self.link_up(member, leaf)?;
        self.member_mut(leaf)?.change_links(|links| {
            (links.left, links.left_distance) = (member, 1);
        });
        Ok(())
    }

    fn link_up(&mut self, at: u32, up: u32) -> Step<()> {
        self.member_mut(at)?.change_links(|links| links.up = up);
        Ok(())
    }

    /// Takes a member out of its heap, and gives the new top if it was the top.
    fn take_out(&mut self, at: u32) -> Step<Option<u32>> {
        let gone = self.member(at)?.links();
        let rest = self.meld(gone.left, gone.right)?;
        if rest != NONE {
            self.link_up(rest, gone.up)?;
        }
        if gone.up == NONE {
            return Ok(Some(rest));
        }
        self.replace_child(gone.up, at, rest)?;
        Ok(None)
    }

    /// Merges the right spines going down, and sets the distances going back up.
    fn meld(&mut self, a: u32, b: u32) -> Step<u32> {
        if a == NONE || b == NONE {
            return Ok(a.max(b));
        }
        let (root, mut other) = self.in_order(a, b)?;
        let mut top = root;
        for _ in 0..MAX_DEPTH {
            let right = self.member(top)?.links().right;
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

    fn link_right(&mut self, at: u32, child: u32) -> Step<()> {
        self.link_up(child, at)?;
        self.member_mut(at)?
            .change_links(|links| links.right = child);
        Ok(())
    }

    /// Goes from the end of a right spine up to its root. Each member is the right child of the next.
    fn lean_up(&mut self, from: u32, root: u32) -> Step<()> {
        let mut at = from;
        let mut right_distance = self.distance(self.member(at)?.links().right)?;
        for _ in 0..=MAX_DEPTH {
            let above = self.member_mut(at)?.change_links(|links| {
                links.lean_left(links.left_distance, right_distance);
                (links.distance, links.up)
            });
            if at == root {
                return Ok(());
            }
            (right_distance, at) = above;
        }
        Err(TOO_DEEP)
    }

    /// Updates the distances above as far as they change.
    fn replace_child(&mut self, parent: u32, child: u32, by: u32) -> Step<()> {
        let (mut at, mut old, mut new) = (parent, child, by);
        for _ in 0..=self.slots() {
            if at == NONE || !self.set_child(at, old, new)? {
                return Ok(());
            }
            (old, new, at) = (at, at, self.member(at)?.links().up);
        }
        Err(Fault::Corrupt("a heap has a cycle"))
    }

    fn set_child(&mut self, at: u32, old: u32, new: u32) -> Step<bool> {
        let distance = self.distance(new)?;
        self.member_mut(at)?.change_links(|links| {
            let (mut left, mut right) = (links.left_distance, links.distance.saturating_sub(1));
            if links.left == old {
                (links.left, left) = (new, distance);
            } else if links.right == old {
                (links.right, right) = (new, distance);
            } else {
                return Err(ONE_SIDED);
            }
            Ok(links.lean_left(left, right))
        })
    }

    fn distance(&self, at: u32) -> Step<u8> {
        match at {
            NONE => Ok(0),
            at => Ok(self.member(at)?.links().distance),
        }
    }

    /// Whether the right child is no deeper than the left one, and the distances say so.
    fn leans_left(&self, at: u32) -> Step<bool> {
        let links = self.member(at)?.links();
        let (left, right) = (self.distance(links.left)?, self.distance(links.right)?);
        let distances = (left, right.saturating_add(1));
        Ok(left >= right && (links.left_distance, links.distance) == distances)
    }
}

/// The fields of a member that are its links.
macro_rules! member {
    ($member:ty) => {
        impl crate::tree::leftist::Member for $member {
            fn links(&self) -> crate::tree::leftist::Links {
                crate::tree::leftist::Links {
                    left: self.left,
                    right: self.right,
                    up: self.up,
                    distance: self.distance,
                    left_distance: self.left_distance,
                }
            }
            fn set_links(&mut self, links: crate::tree::leftist::Links) {
                (self.left, self.right, self.up) = (links.left, links.right, links.up);
                (self.distance, self.left_distance) = (links.distance, links.left_distance);
            }
        }
    };
}
pub(crate) use member;
