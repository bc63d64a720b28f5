//! The leases of a queue by their time: a leftist heap as that of `tree::heap`, threaded through their slots.
//!
//! Most leases end after all that were noted before. Such a one is linked below the last, in constant time.

use crate::memory::due::NEVER;
use crate::memory::lease::Lease;
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{Fault, NONE, Step};
use crate::testing::faults::{Seeded, armed};

/// The right spines of a leftist heap are logarithmic. Anything deeper is a cycle.
const MAX_DEPTH: u32 = 128;
const TOO_DEEP: Fault = Fault::Corrupt("a heap of leases is too deep");
const ONE_SIDED: Fault = Fault::Corrupt("a link between leases is one-sided");

impl Scheduler<'_> {
    /// Puts a lease into the heap of its queue.
    pub(crate) fn push_lease(&mut self, at: u32) -> Step<()> {
        let lease = self.leases.get_mut(at)?;
        (lease.left, lease.right, lease.up) = (NONE, NONE, NONE);
        (lease.distance, lease.left_distance) = (1, 0);
        let (queue, time) = (lease.queue, lease.time);
        let leaf = self.last_leaf_before(queue, time)?;
        if leaf != NONE && leaf != at {
            self.leases.get_mut(at)?.up = leaf;
            let leaf = self.leases.get_mut(leaf)?;
            (leaf.left, leaf.left_distance) = (at, 1);
        } else {
            let root = self.meld_leases(self.due.get(queue)?.leases, at)?;
            self.leases.get_mut(root)?.up = NONE;
            self.due.get_mut(queue)?.leases = root;
        }
        self.due.get_mut(queue)?.last_lease = at;
        self.tell_next_lease(queue)
    }

    /// The lease that came last, if it is still in the heap, ends no later, and has none below it.
    fn last_leaf_before(&self, queue: u32, time: i64) -> Step<u32> {
        let known = self.due.get(queue)?;
        let last = known.last_lease;
        // One that is gone may have had a slot that is gone, too.
        let Ok(lease) = self.leases.get(last) else {
            return Ok(NONE);
        };
        let is_placed = lease.up != NONE || known.leases == last;
        let is_leaf = lease.queue == queue && (lease.left, lease.right) == (NONE, NONE);
        Ok(match is_placed && is_leaf && lease.time <= time {
            true => last,
            false => NONE,
        })
    }

    /// Takes a lease out of the heap of its queue.
    pub(crate) fn take_out_lease(&mut self, at: u32) -> Step<()> {
        let gone = *self.leases.get(at)?;
        let rest = self.meld_leases(gone.left, gone.right)?;
        if rest != NONE {
            self.leases.get_mut(rest)?.up = gone.up;
        }
        if gone.up == NONE {
            let known = self.due.get_mut(gone.queue)?;
            if known.leases != at {
                return Err(Fault::Corrupt("a lease is not in the heap of its queue"));
            }
            known.leases = rest;
        } else {
            self.replace_lease(gone.up, at, rest)?;
        }
        let lease = self.leases.get_mut(at)?;
        (lease.left, lease.right, lease.up) = (NONE, NONE, NONE);
        self.tell_next_lease(gone.queue)
    }

    /// The queue is in the order of times by the first of its leases.
    fn tell_next_lease(&mut self, queue: u32) -> Step<()> {
        let known = self.due.get(queue)?;
        let next = match known.leases {
            NONE => NEVER,
            root => self.leases.get(root)?.time,
        };
        if known.next_lease == next {
            return Ok(());
        }
        self.due.get_mut(queue)?.next_lease = next;
        self.restore_order(queue)
    }

    fn meld_leases(&mut self, a: u32, b: u32) -> Step<u32> {
        if a == NONE || b == NONE {
            return Ok(a.max(b));
        }
        let (root, mut other) = self.leases_in_order(a, b)?;
        let mut top = root;
        for _ in 0..MAX_DEPTH {
            let right = self.leases.get(top)?.right;
            if right == NONE {
                self.link_lease_right(top, other)?;
                self.lean_leases(top, root)?;
                return Ok(root);
            }
            let (first, second) = self.leases_in_order(right, other)?;
            if first != right {
                self.link_lease_right(top, first)?;
            }
            (top, other) = (first, second);
        }
        Err(TOO_DEEP)
    }

    fn leases_in_order(&self, a: u32, b: u32) -> Step<(u32, u32)> {
        let b_is_first = self.leases.get(b)?.time < self.leases.get(a)?.time;
        Ok(match b_is_first && !armed(Seeded::LooseLeases) {
            true => (b, a),
            false => (a, b),
        })
    }

    fn link_lease_right(&mut self, at: u32, child: u32) -> Step<()> {
        self.leases.get_mut(child)?.up = at;
        self.leases.get_mut(at)?.right = child;
        Ok(())
    }

    /// Goes from the end of a right spine up to its root.
    fn lean_leases(&mut self, from: u32, root: u32) -> Step<()> {
        let mut at = from;
        let mut right_distance = self.lease_distance(self.leases.get(at)?.right)?;
        for _ in 0..=MAX_DEPTH {
            let lease = self.leases.get_mut(at)?;
            lease.lean_left(lease.left_distance, right_distance);
            if at == root {
                return Ok(());
            }
            (right_distance, at) = (lease.distance, lease.up);
        }
        Err(TOO_DEEP)
    }

    /// Updates the distances above as far as they change.
    fn replace_lease(&mut self, parent: u32, child: u32, by: u32) -> Step<()> {
        let (mut at, mut old, mut new) = (parent, child, by);
        for _ in 0..=self.leases.slots.len() {
            if at == NONE || !self.set_lease_below(at, old, new)? {
                return Ok(());
            }
            (old, new, at) = (at, at, self.leases.get(at)?.up);
        }
        Err(Fault::Corrupt("a heap of leases has a cycle"))
    }

    fn set_lease_below(&mut self, at: u32, old: u32, new: u32) -> Step<bool> {
        let distance = self.lease_distance(new)?;
        let lease = self.leases.get_mut(at)?;
        let (mut left, mut right) = (lease.left_distance, lease.distance.saturating_sub(1));
        if lease.left == old {
            (lease.left, left) = (new, distance);
        } else if lease.right == old {
            (lease.right, right) = (new, distance);
        } else {
            return Err(ONE_SIDED);
        }
        Ok(lease.lean_left(left, right))
    }

    fn lease_distance(&self, at: u32) -> Step<u8> {
        match at {
            NONE => Ok(0),
            at => Ok(self.leases.get(at)?.distance),
        }
    }

    /// Checks that each lease is in the heap of its queue, and each heap in order.
    pub(crate) fn audit_leases(&self) -> Step<()> {
        for at in self.leases.touched() {
            if self.leases.is_live(at)? {
                self.audit_lease(at)?;
            }
        }
        for place in 1..=self.header.due.count {
            let known = self.due.get(self.due_at(place)?.0)?;
            let first = match known.leases {
                NONE => NEVER,
                root => self.leases.get(root)?.time,
            };
            if known.next_lease != first {
                return Err(Fault::Corrupt("the next lease of a queue is another"));
            }
        }
        Ok(())
    }

    fn audit_lease(&self, at: u32) -> Step<()> {
        let lease = self.leases.get(at)?;
        let known = self.due.get(lease.queue)?;
        let is_placed = match lease.up {
            NONE => known.leases == at,
            up => {
                let up = self.leases.get(up)?;
                (up.left == at || up.right == at)
                    && up.time <= lease.time
                    && up.queue == lease.queue
            }
        };
        if !is_placed || known.key == 0 {
            return Err(Fault::Corrupt("a lease is not in the heap of its queue"));
        }
        for child in [lease.left, lease.right] {
            if child != NONE && self.leases.get(child)?.up != at {
                return Err(ONE_SIDED);
            }
        }
        let [left, right] = [lease.left, lease.right].map(|child| self.lease_distance(child));
        let (left, right) = (left?, right?);
        let distances = (left, right.saturating_add(1));
        match left < right || (lease.left_distance, lease.distance) != distances {
            true => Err(Fault::Corrupt("a heap of leases is too deep on the right")),
            false => Ok(()),
        }
    }
}

impl Lease {
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
