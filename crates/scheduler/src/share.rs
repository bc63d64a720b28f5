//! Fair share: start-time fair queuing among the tenants of a queue, one virtual clock a level.
//!
//! Each start costs a tenant `1 / weight`. The tag of its next start is where its last one ended, or where the
//! clock stands if that is later: who was idle, or had no room, gets no credit for it. The least tag is next, and
//! the clock stands at the tag that was served last. All jobs without a tenant are one tenant of weight 1.
//!
//! A pick charges the starts that it makes room for; those that do not take place are taken back. Until that is
//! known they count, but not for a bundle that waits at its key: that one is placed by a tag below which its tenant's
//! never falls, so it is reached in time, and then goes home, where the tag is exact. A job that was handed out
//! stays charged.
//!
//! More tenants than there are slots to remember: all of them begin anew.

use crate::faults::{Seeded, armed};
use crate::index::{Slot, mix};
use crate::{GateKind, Kind, LaneSpec, NONE, Picked, Rank, Reservation, Scheduler, Step};
use std::cmp::Ordering;

/// What a start costs a tenant of weight 1.
const START: u64 = 1 << 24;

/// Where a tenant's last start at one level of one queue ended; or where the clock of the level stands.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Share {
    key: u64,
    tag: u64,
    /// What was charged for starts of which it is not known yet whether they take place.
    unsettled: u64,
    next: u32,
}

impl Slot for Share {
    fn next(&self) -> u32 {
        self.next
    }
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

#[cfg(feature = "damage")]
impl Share {
    pub(crate) fn damage(&mut self, field: u8, value: u64) {
        match field % 4 {
            0 => self.key = value,
            1 => self.tag = value,
            2 => self.unsettled = value,
            _ => self.next = value as u32,
        }
    }
}

/// What is counted for one tenant at one level of one queue: its priority, where jobs do not age.
#[derive(Clone, Copy, Debug)]
struct Account {
    tenant: u64,
    level: i32,
}

impl Account {
    fn key(self) -> u64 {
        mix(mix(self.tenant, 1), u64::from(self.level.cast_unsigned()))
    }
}

fn account_of(spec: &LaneSpec, level: i32) -> Account {
    Account {
        tenant: mix(spec.queue, spec.tenant),
        level,
    }
}

fn clock_key(queue: u64, level: i32) -> u64 {
    mix(mix(mix(queue, queue), 2), u64::from(level.cast_unsigned()))
}

impl Scheduler<'_> {
    pub(crate) fn is_fair(&self, queue: u32) -> Step<bool> {
        Ok(self.gate_is_fair(self.node(queue)?.gate))
    }

    pub(crate) fn gate_is_fair(&self, queue_gate: u32) -> bool {
        self.gate(queue_gate).is_ok_and(|gate| gate.is_fair())
    }

    /// The tag of the next start of an entry's tenant at a level; 0 where the queue is first in, first out.
    pub(crate) fn tag_of(&self, at: u32, level: i32) -> Step<u64> {
        let tenant = self.tenant_of(at)?;
        let queue = self.entry(tenant)?.home;
        if !self.is_fair(queue)? {
            return Ok(0);
        }
        let own = self.share_tag(self.account_of_node(tenant, level)?.key())?;
        let clock = self.share_tag(clock_key(self.key_behind(queue)?, level))?;
        Ok(match armed(Seeded::CreditTheIdle) {
            true => own,
            false => own.max(clock),
        })
    }

    fn account_of_node(&self, tenant: u32, level: i32) -> Step<Account> {
        let queue = self.entry(tenant)?.home;
        Ok(Account {
            tenant: mix(self.key_behind(queue)?, self.key_behind(tenant)?),
            level,
        })
    }

    /// A tag that the entry's tenant never falls below.
    pub(crate) fn least_tag_of(&self, at: u32, level: i32) -> Step<u64> {
        let tag = self.tag_of(at, level)?;
        if tag == 0 {
            return Ok(0);
        }
        let account = self.account_of_node(self.tenant_of(at)?, level)?;
        let unsettled = match self.find_share(account.key())? {
            Some(at) => self.shares.get(at)?.unsettled,
            None => 0,
        };
        Ok(tag.saturating_sub(unsettled))
    }

    fn share_tag(&self, key: u64) -> Step<u64> {
        match self.find_share(key)? {
            Some(at) => Ok(self.shares.get(at)?.tag),
            None => Ok(0),
        }
    }

    fn find_share(&self, key: u64) -> Step<Option<u32>> {
        self.shares.find(key, |_, share| share.key == key)
    }

    fn find_or_make_share(&mut self, key: u64) -> Step<u32> {
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

    /// A lane of the tenant was picked: the clock moves to its tag, and all starts that it may lead to are
    /// charged. Returns what each costs.
    pub(crate) fn serve(&mut self, tenant: u32, picked: &Picked) -> Step<u32> {
        let account = account_of(&picked.spec, picked.level);
        if self.shares.left() < 2 {
            self.forget_shares()?;
        }
        let tag = self.tag_of(tenant, account.level)?;
        let clock = clock_key(picked.spec.queue, account.level);
        let clock = self.find_or_make_share(clock)?;
        self.shares.get_mut(clock)?.tag = tag;
        let cost = self.cost_of(tenant)?;
        let starts = cost.saturating_mul(picked.reserved as u64);
        let share = self.find_or_make_share(account.key())?;
        let share = self.shares.get_mut(share)?;
        if !armed(Seeded::ServeForNothing) {
            share.tag = tag.saturating_add(starts);
        }
        share.unsettled = share.unsettled.saturating_add(starts);
        self.settle_place(tenant)?;
        Ok(u32::try_from(cost).unwrap_or(u32::MAX))
    }

    /// So many jobs of a picked lane start: the clock moves on to the last of them, but not past the tag of a
    /// tenant that waits.
    pub(crate) fn note_starts(&mut self, picked: &Picked, count: usize) -> Step<()> {
        let spec = &picked.spec;
        if count < 2 || !self.is_fair_queue(spec.queue)? || armed(Seeded::LagBehind) {
            return Ok(());
        }
        let Some(clock) = self.find_share(clock_key(spec.queue, picked.level))? else {
            return Ok(());
        };
        let gate = match spec.tenant {
            0 => NONE,
            tenant => self.find_gate(GateKind::Tenant, tenant)?.unwrap_or(NONE),
        };
        let further = self.cost_behind(gate)?.saturating_mul(count as u64 - 1);
        let mut reached = picked.tag.saturating_add(further);
        if let Some(first) = self.first_of_queue(spec.queue)? {
            match first.level.cmp(&picked.level) {
                // Who waits at this level is not known from here; the next pick moves the clock on.
                Ordering::Less => return Ok(()),
                Ordering::Equal => reached = reached.min(first.tag),
                Ordering::Greater => {}
            }
        }
        let clock = self.shares.get_mut(clock)?;
        clock.tag = clock.tag.max(reached);
        Ok(())
    }

    fn is_fair_queue(&self, queue: u64) -> Step<bool> {
        let gate = self.find_gate(GateKind::Queue, queue)?;
        Ok(gate.is_some_and(|gate| self.gate_is_fair(gate)))
    }

    fn first_of_queue(&self, queue: u64) -> Step<Option<Rank>> {
        let first = match self.find_queue(queue)? {
            Some(queue) => self.node(queue)?.root,
            None => NONE,
        };
        match first {
            NONE => Ok(None),
            first => Ok(Some(self.rank(first)?)),
        }
    }

    /// Where the clock of a level stands in a fair queue.
    pub fn clock_of(&self, queue: u64, level: i32) -> Step<u64> {
        self.share_tag(clock_key(queue, level))
    }

    /// Whether the start that a pick has charged takes place.
    pub(crate) fn settle_start(&mut self, of: &Reservation, starts: bool) -> Step<()> {
        let (spec, cost) = (&of.spec, of.charged);
        let account = account_of(spec, of.level);
        let Some(share) = self.find_share(account.key())? else {
            return Ok(());
        };
        let share = self.shares.get_mut(share)?;
        share.unsettled = share.unsettled.saturating_sub(u64::from(cost));
        if !starts && !armed(Seeded::KeepVainCharge) {
            share.tag = share.tag.saturating_sub(u64::from(cost));
        }
        self.settle_tenant(spec)
    }

    fn settle_tenant(&mut self, spec: &LaneSpec) -> Step<()> {
        let gate = match spec.tenant {
            0 => Some(NONE),
            key => self.find_gate(GateKind::Tenant, key)?,
        };
        let (Some(gate), Some(queue)) = (gate, self.find_queue(spec.queue)?) else {
            return Ok(());
        };
        match self.find_node(Kind::Tenant, gate, queue)? {
            Some(tenant) => self.settle_place(tenant),
            None => Ok(()),
        }
    }

    /// More tenants and levels were served than can be told apart: the count begins anew for all.
    fn forget_shares(&mut self) -> Step<()> {
        self.shares.clear();
        self.forget_charges()?;
        self.rank_anew(|_| true)
    }

    /// The policy of a queue has changed, or all tags have.
    pub(crate) fn rank_anew(&mut self, is_queue: impl Fn(u32) -> bool) -> Step<()> {
        for kind in [Kind::Bundle, Kind::Tenant] {
            for at in self.touched_nodes() {
                let entry = self.entry(at)?;
                if entry.kind != kind || !entry.is_placed() {
                    continue;
                }
                if is_queue(self.entry(self.tenant_of(at)?)?.home) {
                    self.settle_place(at)?;
                }
            }
        }
        Ok(())
    }
}
