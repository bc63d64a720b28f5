//! Which lane leaves when memory is full: one of those who have the most.
//!
//! Each tenant node has its lanes in a ring. All tenant nodes are in lists by the number of their lanes, to a factor of two.
//!
//! 1. A lane leaves only from a tenant of the last list, or from the tenant for whose lane there is no room, if that
//!    would come into the last list with it. Lanes that have just been taken in because a claim wants them do not count.
//! 2. The lane that was made last leaves first: where memory is full because of many jobs, it would run last.

use crate::memory::entry::Kind;
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{Fault, NONE, Step};
use crate::testing::faults::{Seeded, armed};

/// More do not come with one part of the tables.
const MOST_TENANTS: u32 = 1_024;

const LISTS: Fault = Fault::Corrupt("the lists of tenants are broken");
const RING: Fault = Fault::Corrupt("the lanes of a tenant are no ring");

/// The list of tenants with that many lanes.
pub(crate) fn list_of(lanes: u32) -> Option<usize> {
    lanes.checked_ilog2().map(|list| list as usize)
}

impl Scheduler<'_> {
    /// A lane is the last of its tenant's from now on.
    pub(crate) fn join_tenant(&mut self, tenant: u32, lane: u32) -> Step<()> {
        let first = self.node(tenant)?.oldest;
        if first == NONE {
            self.node_mut(tenant)?.oldest = lane;
            return self.link_in_ring(lane, lane);
        }
        let last = self.lane(first)?.older;
        self.link_in_ring(last, lane)?;
        self.link_in_ring(lane, first)
    }

    pub(crate) fn leave_tenant(&mut self, tenant: u32, lane: u32) -> Step<()> {
        let (before, after) = (self.lane(lane)?.older, self.lane(lane)?.newer);
        if self.node(tenant)?.oldest == lane {
            self.node_mut(tenant)?.oldest = if after == lane { NONE } else { after };
        }
        self.link_in_ring(before, after)
    }

    fn link_in_ring(&mut self, before: u32, after: u32) -> Step<()> {
        self.lane_mut(before)?.newer = after;
        self.lane_mut(after)?.older = before;
        Ok(())
    }

    /// The number of a tenant's lanes has changed.
    pub(crate) fn resize_tenant(&mut self, at: u32, before: u32, after: u32) -> Step<()> {
        let (old, new) = (list_of(before), list_of(after));
        if old == new {
            return Ok(());
        }
        if let Some(old) = old {
            self.leave_list(at, old)?;
        }
        match new {
            Some(new) => self.join_list(at, new),
            None => Ok(()),
        }
    }

    fn first_of_list(&mut self, list: usize) -> Step<&mut u32> {
        self.header.tenants.firsts.get_mut(list).ok_or(LISTS)
    }

    fn join_list(&mut self, at: u32, list: usize) -> Step<()> {
        let next = std::mem::replace(self.first_of_list(list)?, at);
        if next != NONE {
            self.node_mut(next)?.peer_before = at;
        }
        let node = self.node_mut(at)?;
        (node.peer_before, node.peer_after) = (NONE, next);
        Ok(())
    }

    fn leave_list(&mut self, at: u32, list: usize) -> Step<()> {
        let (before, after) = (self.node(at)?.peer_before, self.node(at)?.peer_after);
        match before {
            NONE => *self.first_of_list(list)? = after,
            before => self.node_mut(before)?.peer_after = after,
        }
        if after != NONE {
            self.node_mut(after)?.peer_before = before;
        }
        Ok(())
    }

    /// The last list that has tenants.
    fn last_list(&self) -> Option<usize> {
        let mut lists = self.header.tenants.firsts.iter();
        match armed(Seeded::EvictFromFew) {
            true => lists.position(|&first| first != NONE),
            false => lists.rposition(|&first| first != NONE),
        }
    }

    /// The lane that leaves so that a tenant can have one more. A tenant that has about the most gives one of its own, but
    /// only where the new lane is wanted. None that came after `began` leaves.
    pub(crate) fn lane_to_evict(
        &mut self,
        tenant: Option<u32>,
        is_wanted: bool,
        began: u64,
    ) -> Step<Option<u32>> {
        let Some(last) = self.last_list() else {
            return Ok(None);
        };
        let lanes = match tenant {
            Some(tenant) => self.node(tenant)?.lanes,
            None => 0,
        };
        let is_large = list_of(lanes.saturating_add(1)).is_some_and(|list| list >= last);
        if is_large && !is_wanted {
            return Ok(None);
        }
        if let Some(tenant) = tenant.filter(|_| is_large)
            && let Some(own) = self.newest_until(tenant, began)?
        {
            return Ok(Some(own));
        }
        self.newest_of_many(last, began)
    }

    /// The last lane of a tenant of the list, or of those before it. Each tenant that has none to give has some that have
    /// just come, so there are few of them.
    fn newest_of_many(&mut self, last: usize, began: u64) -> Step<Option<u32>> {
        let mut left = MOST_TENANTS;
        for list in (0..=last).rev() {
            let mut tenant = *self.first_of_list(list)?;
            while tenant != NONE && left > 0 {
                let found = self.newest_until(tenant, began)?;
                if found.is_some() {
                    return Ok(found);
                }
                (tenant, left) = (self.node(tenant)?.peer_after, left - 1);
            }
        }
        Ok(None)
    }

    /// The last lane of a tenant that has not been made or lowered since. Those that have are the first from now on.
    fn newest_until(&mut self, tenant: u32, began: u64) -> Step<Option<u32>> {
        let lanes = self.node(tenant)?.lanes.min(self.lane_count());
        for _ in 0..lanes {
            let first = self.node(tenant)?.oldest;
            let last = self.lane(first)?.older;
            if self.stamp_of(last)? <= began {
                return Ok(Some(last));
            }
            self.node_mut(tenant)?.oldest = last;
        }
        Ok(None)
    }

    /// Checks that each lane is in the ring of its tenant, and each tenant in the list for its size.
    pub(crate) fn audit_tenants(&self) -> Step<()> {
        let mut tenants = 0;
        for at in self.touched_nodes() {
            if self.entry(at)?.kind == Kind::Tenant {
                tenants += 1;
                self.audit_ring(at)?;
            }
        }
        let mut listed = 0;
        for (list, &first) in self.header.tenants.firsts.iter().enumerate() {
            let (mut at, mut before) = (first, NONE);
            while at != NONE {
                let node = self.node(at)?;
                let is_right = list_of(node.lanes) == Some(list) && node.peer_before == before;
                if !is_right || listed >= tenants {
                    return Err(LISTS);
                }
                (before, at, listed) = (at, node.peer_after, listed + 1);
            }
        }
        match listed == tenants {
            true => Ok(()),
            false => Err(LISTS),
        }
    }

    fn audit_ring(&self, tenant: u32) -> Step<()> {
        let node = self.node(tenant)?;
        if node.lanes > self.lane_count() {
            return Err(RING);
        }
        let mut at = node.oldest;
        for _ in 0..node.lanes {
            let next = self.lane(at)?.newer;
            if self.tenant_of(at)? != tenant || self.lane(next)?.older != at {
                return Err(RING);
            }
            at = next;
        }
        match at == node.oldest {
            true => Ok(()),
            false => Err(RING),
        }
    }
}
