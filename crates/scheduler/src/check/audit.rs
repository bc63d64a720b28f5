//! Checks every link, rank and place, and changes nothing: for `turnstile.check()` and for tests.

use crate::memory::entry::Kind;
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{Fault, NONE, Step};
use crate::tree::leftist::Leftist;

impl Scheduler<'_> {
    /// Checks every link, rank and place; names the first thing that is wrong.
    pub fn audit(&self) -> Step<()> {
        self.audit_arrays()?;
        let (mut lanes, mut queues, mut attached, mut placed) = (0, 0, 0, 0);
        for at in self.touched_entries() {
            let entry = self.entry(at)?;
            if entry.kind == Kind::Free {
                continue;
            }
            self.audit_place(at)?;
            placed += u32::from(entry.is_placed());
            if entry.kind == Kind::Lane {
                lanes += 1;
                self.audit_lane(at)?;
            } else {
                self.audit_node(at)?;
                if entry.kind == Kind::Queue {
                    queues += 1;
                    self.audit_queue(at)?;
                }
                attached += u32::from(self.node(at)?.gate != NONE);
            }
        }
        self.audit_idle_gates()?;
        self.audit_queues(queues)?;
        self.audit_timers()?;
        self.audit_due()?;
        self.audit_leases()?;
        self.audit_levels()?;
        self.audit_tenants()?;
        self.audit_outside()?;
        self.audit_doubts()?;
        if lanes != self.lane_count() {
            return Err(Fault::Corrupt("the number of lanes is wrong"));
        }
        if placed != self.count_reachable()? {
            return Err(Fault::Corrupt("an entry with a place is not in a heap"));
        }
        if attached != self.count_attached()? {
            return Err(Fault::Corrupt("a node is not in its gate's list"));
        }
        Ok(())
    }

    fn audit_place(&self, at: u32) -> Step<()> {
        let entry = self.entry(at)?;
        let place = match entry.kind {
            Kind::Unread | Kind::Aging => NONE,
            _ => self.desired_place(at)?,
        };
        if place != self.place(at)? {
            return Err(Fault::Corrupt("an entry is not where it belongs"));
        }
        let (own, rank) = (self.rank(at)?, self.desired_rank(at, place)?);
        // A key group at its key may keep an old tag, and so may the key.
        let is_right = match entry.kind == Kind::KeyGroup && entry.is_away() {
            true => (rank.level, rank.head) == (own.level, own.head) && own.tag <= rank.tag,
            false => rank == own,
        };
        if entry.is_placed() && !is_right {
            return Err(Fault::Corrupt("a node's rank is not its best member's"));
        }
        self.audit_children(at)
    }

    fn audit_children(&self, at: u32) -> Step<()> {
        let entry = self.entry(at)?;
        for child in [entry.left, entry.right] {
            if child == NONE {
                continue;
            }
            if self.entry(child)?.up != at || self.place(child)? != self.place(at)? {
                return Err(Fault::Corrupt("a heap's link is one-sided"));
            }
            if self.is_before(child, at)? {
                return Err(Fault::Corrupt("a heap is out of order"));
            }
        }
        if entry.is_placed() && !self.leans_left(at)? {
            return Err(Fault::Corrupt("a heap is too deep on the right"));
        }
        Ok(())
    }

    fn audit_lane(&self, at: u32) -> Step<()> {
        if self.find_lane(self.lane(at)?.key)? != Some(at) {
            return Err(Fault::Corrupt("a lane is not in its index"));
        }
        if !self.entry(at)?.is_placed() {
            return Err(Fault::Corrupt("a lane has no place"));
        }
        for node in self.path_of(at)?.downwards() {
            if self.node(node)?.lanes == 0 {
                return Err(Fault::Corrupt("a lane's node counts no lanes"));
            }
        }
        Ok(())
    }

    fn audit_queue(&self, at: u32) -> Step<()> {
        let is_next = self.is_fair(at)? && self.is_first_next(at)?;
        if self.entry(at)?.is_verified() != is_next {
            return Err(Fault::Corrupt(
                "it is not known whether a queue's first lane is next",
            ));
        }
        self.audit_members(at)?;
        self.audit_top(at)
    }

    fn audit_node(&self, at: u32) -> Step<()> {
        let (kind, behind, above) = self.identity(at)?;
        if self.find_node(kind, behind, above)? != Some(at) {
            return Err(Fault::Corrupt("a node is not in its index"));
        }
        let root = self.node(at)?.root;
        if root != NONE && self.place(root)? != at {
            return Err(Fault::Corrupt("a heap's top is in another place"));
        }
        Ok(())
    }

    /// The number of entries that are in the heap of a node.
    fn count_reachable(&self) -> Step<u32> {
        let mut count = 0;
        for at in self.touched_entries() {
            let entry = self.entry(at)?;
            if entry.is_placed() && (entry.up != NONE || self.node(self.place(at)?)?.root == at) {
                count += 1;
            }
        }
        Ok(count)
    }

    /// The number of nodes in the lists of their gates.
    fn count_attached(&self) -> Step<u32> {
        let mut count = 0;
        for gate in self.gates.touched() {
            let (mut at, mut before) = (self.gate(gate)?.first_node(), NONE);
            while at != NONE && (count as usize) < self.nodes.slots.len() {
                let node = self.node(at)?;
                if node.gate != gate || node.gate_prev != before {
                    return Err(Fault::Corrupt("a node is in another gate's list"));
                }
                (at, before, count) = (node.gate_next, at, count + 1);
            }
        }
        Ok(count)
    }
}
