//! Picks the next lane and reserves room in it.

use crate::claim::descend::Found;
use crate::gates::hold::Credit;
use crate::gates::settings::UnknownGate;
use crate::memory::gate::{GateKind, MAX_GATES};
use crate::memory::lane::{EVERY_QUEUE, LaneSpec};
use crate::memory::path::{Gates, LanePath};
use crate::memory::reservation::ReservationId;
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{NONE, Step};
use crate::testing::faults::{Seeded, armed};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// Nothing in memory may run now.
    Nothing,
    /// It is not known whether the best lane may run: the settings of these gates are missing (a key of 0
    /// fills the rest).
    Unknown(LaneSpec, [UnknownGate; MAX_GATES]),
    Lane(Picked),
    /// Open transactions hold all reservations.
    Exhausted,
}

/// A lane, with room that is reserved for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picked {
    pub spec: LaneSpec,
    /// The position at which the caller starts to look for jobs.
    pub head: i64,
    /// A job at or after this position would overtake another.
    pub bound: Option<i64>,
    /// The starts of the lane's tenant before another tenant is due.
    pub due: u32,
    /// The least level that a job of the lane may have.
    pub level: i32,
    /// The tag of the first of those starts in a fair queue.
    pub tag: u64,
    /// How many of the caller's reservations are filled in. If none is, the caller only looks at the lane:
    /// its session waits for a job that may be gone.
    pub reserved: usize,
    /// A gate is closed, or may be: the caller only looks at the lane, as if no reservation were filled in.
    pub is_only_looked_at: bool,
    /// The queue whose row of settings holds: that of the lane, or [`EVERY_QUEUE`] if it has none.
    pub settings_of: u64,
    /// The time of the pick, in microseconds.
    pub now: i64,
    /// Some of the lane's gates have a rate: the jobs start at the time of the pick, not later.
    pub is_metered: bool,
    pub(crate) lane: u32,
    pub(crate) stamp: u32,
}

impl Scheduler<'_> {
    /// Finds the lane of the queue, or of all queues, that a scan over all lanes would return, and reserves
    /// room for up to as many jobs as there are `reservations` to fill in. `credits` are used up as far as
    /// they serve. `now` is in microseconds and was read under the lock.
    pub fn pick(
        &mut self,
        queue: u64,
        now: i64,
        credits: &mut [Credit],
        reservations: &mut [ReservationId],
    ) -> Step<Pick> {
        self.advance(now)?;
        if !self.note_claim(queue)? {
            return Ok(Pick::Nothing);
        }
        self.choose(queue, credits, reservations)
    }

    /// What a pick of a claim from the queue would be. Nobody counts as claiming by that.
    pub fn peek(&mut self, queue: u64, now: i64) -> Step<Pick> {
        self.advance(now)?;
        match self.find_queue(queue)? {
            Some(_) => self.choose(queue, &mut [], &mut []),
            None => Ok(Pick::Nothing),
        }
    }

    /// Returns whether there may be a lane to pick. Where the pick is one among some queues, its caller notes them now and then.
    fn note_claim(&mut self, queue: u64) -> Step<bool> {
        if queue != EVERY_QUEUE {
            return self.note_claim_from(queue);
        }
        if self.queue_filter.is_none() {
            self.header.clock.claimed_at = self.header.clock.now;
        }
        Ok(true)
    }

    /// Notes that these queues are claimed from.
    pub fn note_claims(&mut self, queues: &[u64], now: i64) -> Step<()> {
        self.advance(now)?;
        for &queue in queues {
            self.note_claim_from(queue)?;
        }
        Ok(())
    }

    fn note_claim_from(&mut self, queue: u64) -> Step<bool> {
        let now = self.header.clock.now;
        let Some(gate) = self.find_gate(GateKind::Queue, queue)? else {
            if !armed(Seeded::ForgetClaim) {
                self.header.vain_claims.note(queue, now);
            }
            return Ok(false);
        };
        let gate = self.gate_mut(gate)?;
        if !armed(Seeded::ForgetClaim) {
            gate.pace.go_on(now);
        }
        Ok(gate.first_node() != NONE)
    }

    fn choose(
        &mut self,
        queue: u64,
        credits: &mut [Credit],
        reservations: &mut [ReservationId],
    ) -> Step<Pick> {
        self.is_lending = true;
        for credit in credits.iter() {
            self.release_gate(credit.kind, credit.key, credit.count)?;
        }
        let pick = match self.descend(queue)? {
            Found::Nothing => Pick::Nothing,
            Found::Unknown(lane, gates) => Pick::Unknown(self.spec_of(lane)?, gates),
            Found::Lane(lane) => {
                let path = self.path_of(lane)?;
                let picked = self.picked(lane, &path, queue)?;
                self.reserve_room(&path, picked, credits, reservations)?
            }
            Found::Unverified(lane) => {
                let picked = self.picked(lane, &self.path_of(lane)?, queue)?;
                Pick::Lane(Picked {
                    is_only_looked_at: true,
                    ..picked
                })
            }
        };
        for credit in credits.iter() {
            if credit.count > 0 {
                self.hold_gate(credit.kind, credit.key, credit.count)?;
            }
        }
        self.is_lending = false;
        Ok(pick)
    }

    fn reserve_room(
        &mut self,
        path: &LanePath,
        mut picked: Picked,
        credits: &mut [Credit],
        reservations: &mut [ReservationId],
    ) -> Step<Pick> {
        let gates = self.gates_of(path)?;
        let mut room = picked.due;
        for gate in gates.into_iter().filter(|&gate| gate != NONE) {
            room = room
                .min(self.gate(gate)?.room())
                .min(self.starts_left(gate)?);
        }
        let most = (room as usize).min(self.reservations_left());
        if most == 0 {
            return Ok(Pick::Exhausted);
        }
        for slot in reservations.iter_mut().take(most) {
            *slot = self.reserve(picked.spec)?;
            picked.is_metered |= self.hold_for(*slot, &picked.spec, &gates, credits)?;
            picked.reserved += 1;
        }
        if picked.reserved > 0 && self.is_fair(path.queue)? {
            let cost = self.charge_starts(path.tenant, &mut picked)?;
            for &id in reservations.iter().take(picked.reserved) {
                self.mark_charged(id, cost, picked.level)?;
            }
        }
        Ok(Pick::Lane(picked))
    }

    fn picked(&self, lane: u32, path: &LanePath, queue: u64) -> Step<Picked> {
        let entry = self.entry(lane)?;
        let head = entry.head;
        let (mut bound, due) = self.runner_up(lane, path, queue)?;
        if path.session != NONE {
            // The jobs of a session do not overtake each other, even if the next one is locked.
            let behind_head = head.saturating_add(1);
            bound = Some(bound.map_or(behind_head, |bound| bound.min(behind_head)));
        }
        let settings_of = self.row_of_settings(path.queue)?;
        Ok(Picked {
            spec: self.spec_behind(lane, &self.gates_of(path)?)?,
            head,
            bound,
            due,
            level: entry.level,
            tag: self.tag_of(path.tenant, entry.level)?,
            reserved: 0,
            is_only_looked_at: false,
            settings_of,
            now: self.header.clock.now,
            is_metered: false,
            lane,
            stamp: self.lane(lane)?.stamp,
        })
    }

    fn row_of_settings(&self, queue: u32) -> Step<u64> {
        let gate = self.gate(self.node(queue)?.gate)?;
        Ok(match gate.is_default() {
            true => EVERY_QUEUE,
            false => gate.key,
        })
    }

    /// Holds room for one job, first from what the transaction itself gives back. Returns whether a gate has
    /// a rate.
    fn hold_for(
        &mut self,
        id: ReservationId,
        spec: &LaneSpec,
        gates: &Gates,
        credits: &mut [Credit],
    ) -> Step<bool> {
        let mut is_metered = false;
        for (kind, &gate) in GateKind::ALL.into_iter().zip(gates) {
            if gate == NONE {
                continue;
            }
            let key = spec.key_of(kind);
            let credit = credits
                .iter_mut()
                .find(|credit| credit.kind == kind && credit.key == key && credit.count > 0);
            if let Some(credit) = credit {
                credit.count -= 1;
                self.mark_transferred(id, kind)?;
            }
            self.hold_at(gate, 1)?;
            let now = self.header.clock.now;
            self.gate_mut(gate)?.pace.note(1, now);
            if self.reserve_token(gate)? {
                self.mark_metered(id, kind)?;
                is_metered = true;
            }
        }
        Ok(is_metered)
    }
}
