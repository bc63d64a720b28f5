//! Charges the tenants of a fair queue for starts, and takes back what did not start. See `order::share`.

use crate::claim::pick::Picked;
use crate::memory::entry::Kind;
use crate::memory::gate::GateKind;
use crate::memory::lane::LaneSpec;
use crate::memory::reservation::Reservation;
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{NONE, Step};
use crate::order::rank::Rank;
use crate::order::share::{clock_key, share_key_of};
use crate::testing::faults::{Seeded, armed};
use std::cmp::Ordering;

impl Scheduler<'_> {
    /// A lane of the tenant was picked. The clock moves to its tag, and all starts that the pick may lead to
    /// are charged. Returns what each costs. Where all shares have to begin again, so does the tag.
    pub(crate) fn charge_starts(&mut self, tenant: u32, picked: &mut Picked) -> Step<u32> {
        let share_key = share_key_of(&picked.spec, picked.level);
        if self.shares.left() < 2 {
            self.forget_shares()?;
            picked.tag = self.tag_of(tenant, share_key.level)?;
        }
        let tag = picked.tag;
        let clock = clock_key(picked.spec.queue, share_key.level);
        let clock = self.find_or_make_share(clock)?;
        self.shares.get_mut(clock)?.tag = tag;
        let cost = self.cost_of(tenant)?;
        let starts = cost.saturating_mul(picked.reserved as u64);
        let share = self.find_or_make_share(share_key.key())?;
        let share = self.shares.get_mut(share)?;
        if !armed(Seeded::ServeForNothing) {
            share.tag = tag.saturating_add(starts);
        }
        share.unsettled = share.unsettled.saturating_add(starts);
        self.update_place(tenant)?;
        Ok(u32::try_from(cost).unwrap_or(u32::MAX))
    }

    /// This number of jobs of a picked lane start. The clock moves on to the last of them, but not past the tag of a tenant
    /// that waits, nor past where the starts of the lane's tenant end: earlier ones may have been taken back since the pick.
    pub(crate) fn advance_share_clock(&mut self, picked: &Picked, count: usize) -> Step<()> {
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
        let end = self.share_tag(share_key_of(spec, picked.level).key())?;
        let mut reached = picked.tag.saturating_add(further).min(end);
        if let Some(first) = self.first_of_queue(spec.queue)? {
            match first.level.cmp(&picked.level) {
                // Which tenants wait at this level is not known here. The next pick moves the clock on.
                Ordering::Less => return Ok(()),
                Ordering::Equal => reached = reached.min(first.tag),
                Ordering::Greater => {}
            }
        }
        let clock = self.shares.get_mut(clock)?;
        clock.tag = clock.tag.max(reached);
        match self.find_queue(spec.queue)? {
            Some(queue) => self.update_queue(queue),
            None => Ok(()),
        }
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

    /// A start that a pick has charged takes place, or does not.
    pub(crate) fn settle_charge(&mut self, of: &Reservation, starts: bool) -> Step<()> {
        let (spec, cost) = (&of.spec, of.charged);
        let share_key = share_key_of(spec, of.level);
        let Some(share) = self.find_share(share_key.key())? else {
            return Ok(());
        };
        let share = self.shares.get_mut(share)?;
        share.unsettled = share.unsettled.saturating_sub(u64::from(cost));
        if !starts && !armed(Seeded::KeepVainCharge) {
            share.tag = share.tag.saturating_sub(u64::from(cost));
        }
        self.update_tenant(spec)
    }

    fn update_tenant(&mut self, spec: &LaneSpec) -> Step<()> {
        let gate = match spec.tenant {
            0 => Some(NONE),
            key => self.find_gate(GateKind::Tenant, key)?,
        };
        let (Some(gate), Some(queue)) = (gate, self.find_queue(spec.queue)?) else {
            return Ok(());
        };
        match self.find_node(Kind::Tenant, gate, queue)? {
            Some(tenant) => self.update_place(tenant),
            None => Ok(()),
        }
    }

    /// More tenants and levels were served than there are slots. All of them begin again.
    fn forget_shares(&mut self) -> Step<()> {
        self.shares.clear();
        self.forget_charges()?;
        self.rerank_all()
    }

    /// Shares begin again, so what was charged before does not matter any more.
    pub(crate) fn forget_charges(&mut self) -> Step<()> {
        for at in self.reservations.touched() {
            self.reservations.get_mut(at)?.charged = 0;
        }
        Ok(())
    }
}
