//! Fair share: start-time fair queuing among the tenants of a queue, with one virtual clock for each level.
//!
//! Each start costs a tenant `1 / weight`. The tag of a tenant's next start is where its last start ended, or where the
//! clock stands if that is later: a tenant that was idle, or had no room, gets no credit for that time. The least tag is
//! next, and the clock stands at the tag that was served last. All jobs without a tenant count as one tenant of weight 1.
//!
//! A pick charges the starts that it reserves room for (see `claim::charge`); starts that do not take place are taken back.
//! Until that is known they count, except for a key group that waits at its concurrency key. It is placed by a tag
//! below which its tenant's tag never falls. So it is reached in time and then goes home, where the tag is exact. A job
//! that was handed out stays charged.
//!
//! If there are more tenants than slots, all of them begin again.

use crate::memory::gate::GateKind;
use crate::memory::lane::LaneSpec;
use crate::memory::scheduler::Scheduler;
use crate::memory::share::Share;
use crate::memory::slab::mix;
use crate::memory::step::{NONE, Step};
use crate::testing::faults::{Seeded, armed};

/// What a start costs a tenant of weight 1.
const START: u64 = 1 << 24;

/// The key of a share: one tenant at one level of a queue. Where jobs do not age, the level is the priority.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShareKey {
    pub(crate) tenant: u64,
    pub(crate) level: i32,
}

impl ShareKey {
    pub(crate) fn key(self) -> u64 {
        share_key(mix(self.tenant, 1), self.level)
    }
}

pub(crate) fn share_key_of(spec: &LaneSpec, level: i32) -> ShareKey {
    ShareKey {
        tenant: mix(spec.queue, spec.tenant),
        level,
    }
}

pub(crate) fn clock_key(queue: u64, level: i32) -> u64 {
    share_key(mix(mix(queue, queue), 2), level)
}

/// 0 stands for a free slot.
fn share_key(of: u64, level: i32) -> u64 {
    mix(of, u64::from(level.cast_unsigned())).max(1)
}

impl Scheduler<'_> {
    pub(crate) fn is_fair(&self, queue: u32) -> Step<bool> {
        Ok(self.gate_is_fair(self.node(queue)?.gate))
    }

    pub(crate) fn gate_is_fair(&self, queue_gate: u32) -> bool {
        self.gate(queue_gate).is_ok_and(|gate| gate.is_fair())
    }

    /// The tag of the next start of an entry's tenant at a level; 0 where the queue is not fair.
    pub(crate) fn tag_of(&self, at: u32, level: i32) -> Step<u64> {
        let tenant = self.tenant_of(at)?;
        let queue = self.entry(tenant)?.home;
        if !self.is_fair(queue)? {
            return Ok(0);
        }
        let own = self.share_tag(self.share_key_of_node(tenant, level)?.key())?;
        let clock = self.share_tag(clock_key(self.key_behind(queue)?, level))?;
        Ok(match armed(Seeded::CreditTheIdle) {
            true => own,
            false => own.max(clock),
        })
    }

    fn share_key_of_node(&self, tenant: u32, level: i32) -> Step<ShareKey> {
        let queue = self.entry(tenant)?.home;
        Ok(ShareKey {
            tenant: mix(self.key_behind(queue)?, self.key_behind(tenant)?),
            level,
        })
    }

    /// A tag below which that of the entry's tenant never falls.
    pub(crate) fn least_tag_of(&self, at: u32, level: i32) -> Step<u64> {
        let tag = self.tag_of(at, level)?;
        if tag == 0 {
            return Ok(0);
        }
        let account = self.share_key_of_node(self.tenant_of(at)?, level)?;
        let unsettled = match self.find_share(account.key())? {
            Some(at) => self.shares.get(at)?.unsettled,
            None => 0,
        };
        Ok(tag.saturating_sub(unsettled))
    }

    pub(crate) fn share_tag(&self, key: u64) -> Step<u64> {
        match self.find_share(key)? {
            Some(at) => Ok(self.shares.get(at)?.tag),
            None => Ok(0),
        }
    }

    pub(crate) fn find_share(&self, key: u64) -> Step<Option<u32>> {
        self.shares.find(key, |_, share| share.key == key)
    }

    pub(crate) fn find_or_make_share(&mut self, key: u64) -> Step<u32> {
        match self.find_share(key)? {
            Some(at) => Ok(at),
            None => {
                let share = Share {
                    key,
                    ..Share::default()
                };
                self.shares.insert(share, Some(key))
            }
        }
    }

    /// What a start costs the tenant of a lane.
    pub(crate) fn cost_of(&self, tenant: u32) -> Step<u64> {
        self.cost_behind(self.node(tenant)?.gate)
    }

    pub(crate) fn cost_behind(&self, tenant_gate: u32) -> Step<u64> {
        let weight = match tenant_gate {
            NONE => 1,
            gate => u32::from(self.gate(gate)?.weight),
        };
        let weight = if armed(Seeded::IgnoreWeight) {
            1
        } else {
            weight
        };
        Ok((START / u64::from(weight.max(1))).max(1))
    }

    pub(crate) fn is_fair_queue(&self, queue: u64) -> Step<bool> {
        let gate = self.find_gate(GateKind::Queue, queue)?;
        Ok(gate.is_some_and(|gate| self.gate_is_fair(gate)))
    }
}
