//! The leases of a queue by their time: a leftist heap ([`Leftist`]), threaded through their slots.
//!
//! Most leases end after all that were noted before. Such a one is linked below the last, in constant time.

use crate::memory::lease::Lease;
use crate::memory::scheduler::Scheduler;
use crate::memory::slab::Slab;
use crate::memory::step::{Fault, NONE, Step};
use crate::testing::faults::{Seeded, armed};
use crate::times::NEVER;
use crate::tree::leftist::{Leftist, Links, Member, member};

member!(Lease);

impl Leftist for Slab<'_, Lease> {
    type Member = Lease;

    fn member(&self, at: u32) -> Step<&Lease> {
        self.get(at)
    }
    fn member_mut(&mut self, at: u32) -> Step<&mut Lease> {
        self.get_mut(at)
    }
    fn ranks_before(&self, a: u32, b: u32) -> Step<bool> {
        Ok(self.get(a)?.time < self.get(b)?.time && !armed(Seeded::LooseLeases))
    }
    fn slots(&self) -> usize {
        self.slots.len()
    }
}

impl Scheduler<'_> {
    /// Puts a lease into the heap of its queue.
    pub(crate) fn push_lease(&mut self, at: u32) -> Step<()> {
        let lease = self.leases.get_mut(at)?;
        lease.set_links(Links::ALONE);
        let (queue, time) = (lease.queue, lease.time);
        let leaf = self.last_leaf_before(queue, time)?;
        if leaf != NONE && leaf != at {
            self.leases.hang_below(leaf, at)?;
        } else {
            let root = self.leases.meld(self.due.get(queue)?.leases, at)?;
            self.leases.link_up(root, NONE)?;
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
        let is_leaf = lease.queue == queue && lease.links().is_leaf();
        Ok(match is_placed && is_leaf && lease.time <= time {
            true => last,
            false => NONE,
        })
    }

    /// Takes a lease out of the heap of its queue.
    pub(crate) fn take_out_lease(&mut self, at: u32) -> Step<()> {
        let queue = self.leases.get(at)?.queue;
        if let Some(rest) = self.leases.take_out(at)? {
            let known = self.due.get_mut(queue)?;
            if known.leases != at {
                return Err(Fault::Corrupt("a lease is not in the heap of its queue"));
            }
            known.leases = rest;
        }
        self.leases.get_mut(at)?.cut_links();
        self.tell_next_lease(queue)
    }

    /// The queue is in the order of times by the first of its leases.
    fn tell_next_lease(&mut self, queue: u32) -> Step<()> {
        let next = self.first_lease_of(queue)?;
        if self.due.get(queue)?.next_lease == next {
            return Ok(());
        }
        self.due.get_mut(queue)?.next_lease = next;
        self.restore_order(queue)
    }

    fn first_lease_of(&self, queue: u32) -> Step<i64> {
        Ok(match self.due.get(queue)?.leases {
            NONE => NEVER,
            root => self.leases.get(root)?.time,
        })
    }

    /// Checks that each lease is in the heap of its queue, and each heap in order.
    pub(crate) fn audit_leases(&self) -> Step<()> {
        for at in self.leases.touched() {
            if self.leases.is_live(at)? {
                self.audit_lease(at)?;
            }
        }
        for place in 1..=self.header.due.count {
            let (queue, _) = self.due_at(place)?;
            if self.due.get(queue)?.next_lease != self.first_lease_of(queue)? {
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
                return Err(Fault::Corrupt("a link between leases is one-sided"));
            }
        }
        match self.leases.leans_left(at)? {
            true => Ok(()),
            false => Err(Fault::Corrupt("a heap of leases is too deep on the right")),
        }
    }
}
