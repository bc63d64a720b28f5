//! Applies what a claim found in the lane that it picked.

use crate::claim::pick::Picked;
use crate::memory::lane::Lane;
use crate::memory::reservation::ReservationId;
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{NONE, Step};
use crate::testing::faults::{Seeded, armed};

/// The rows that a claim saw and took, by position.
#[derive(Clone, Copy, Debug)]
pub struct Outcome<'a> {
    /// Jobs that the claim locked.
    pub taken: &'a [i64],
    /// The first available positions from the picked head on, locked or not, ascending, in a snapshot that
    /// was taken after the pick. For a session, also those that the claiming transaction has itself changed:
    /// until it commits, nothing may pass them.
    pub seen: &'a [i64],
    /// There were no more than those. If this is false and none was seen, the claim did not look.
    pub seen_all: bool,
}

/// So many jobs that others have locked are passed over also by a claim that has found another one behind them.
pub const MANY_HELD: usize = 64;

/// Where a lane goes on after a claim.
enum Next {
    /// An available job.
    At(i64),
    /// Nothing is known from there on.
    From(i64),
    Unknown,
    Nowhere,
}

impl Scheduler<'_> {
    /// Binds the taken jobs to their reservations, gives the other reservations back, and raises the lane's head unless
    /// the lane was lowered since the pick.
    ///
    /// Returns the position of a job that comes next but is locked by a transaction that is not claiming. It is passed
    /// over so that the caller can go on; of a session, all jobs are. The caller must lower the lane to that position
    /// afterwards.
    pub fn settle(
        &mut self,
        picked: &Picked,
        reservations: &[ReservationId],
        outcome: Outcome,
    ) -> Step<Option<i64>> {
        for (&id, &position) in reservations.iter().zip(outcome.taken) {
            self.bind_job(id, position)?;
            self.charge_tokens(id, picked.now)?;
            self.start_charged(id)?;
        }
        for &id in reservations.iter().skip(outcome.taken.len()) {
            match armed(Seeded::KeepUnusedRoom) {
                true => drop(self.remove_reservation(id)?),
                false => drop(self.release_reservation(id)?),
            }
        }
        self.advance_share_clock(picked, outcome.taken.len())?;
        let Some(lane) = self.find_picked(picked)? else {
            return Ok(None);
        };
        let head = self.entry(lane)?.head;
        let Lane { stamp, session, .. } = *self.lane(lane)?;
        if stamp != picked.stamp && !armed(Seeded::RaiseDespiteStamp) {
            return self.mark_unverified(lane).map(|()| None);
        }
        let (mut blocked, next) = self.look_ahead(picked, outcome)?;
        if armed(Seeded::ForgetLockedRows) {
            blocked = None;
        }
        if blocked.is_some() && session != NONE && !armed(Seeded::PassLockedSession) {
            return self.block_session(session).map(|()| blocked);
        }
        match next {
            Next::At(position) if position >= head => self.move_head(lane, position, true)?,
            Next::From(position) if position > head => self.move_head(lane, position, false)?,
            Next::Nowhere => self.free_lane(lane)?,
            Next::Unknown => self.mark_unverified(lane)?,
            Next::At(_) | Next::From(_) => {}
        }
        Ok(blocked)
    }

    /// The picked lane, which most likely has the same slot as before.
    fn find_picked(&self, picked: &Picked) -> Step<Option<u32>> {
        let key = picked.spec.lane;
        let is_there = self.lanes.touched().contains(&picked.lane)
            && self.lane(picked.lane).is_ok_and(|lane| lane.key == key);
        match is_there && self.is_lane(picked.lane)? {
            true => Ok(Some(picked.lane)),
            false => self.find_lane(key),
        }
    }

    /// The same as [`Self::settle`] while the memory waits for a rebuild: only the reservations matter.
    pub fn settle_stale(&mut self, reservations: &[ReservationId], taken: &[i64]) -> Step<()> {
        for (&id, &position) in reservations.iter().zip(taken) {
            self.note_job(id, position)?;
        }
        for &id in reservations.iter().skip(taken.len()) {
            self.forget(id)?;
        }
        Ok(())
    }

    /// In a session nothing passes them.
    fn has_many_held(&self, picked: &Picked, outcome: Outcome) -> bool {
        picked.spec.session == 0 && outcome.seen.len() >= outcome.taken.len() + MANY_HELD
    }

    /// The first job that others have locked without claiming it, if nothing could be taken because of that or very many are locked,
    /// and where the lane goes on after it. Jobs that open claims have locked do not count: an abort lowers
    /// the head again.
    fn look_ahead(&self, picked: &Picked, outcome: Outcome) -> Step<(Option<i64>, Next)> {
        let tried_before = match outcome.taken.last() {
            None if picked.reserved > 0 => picked.bound.unwrap_or(i64::MAX),
            Some(&last) if self.has_many_held(picked, outcome) => last,
            _ => i64::MIN,
        };
        let mut blocked = None;
        for &position in outcome.seen {
            let is_passed = position < tried_before;
            if is_passed && blocked.is_some() || self.is_in_flight(picked.spec.lane, position)? {
                continue;
            }
            if is_passed {
                blocked = Some(position);
                continue;
            }
            return Ok((blocked, Next::At(position)));
        }
        let next = match outcome.seen.last() {
            _ if outcome.seen_all => Next::Nowhere,
            Some(last) => Next::From(last.saturating_add(1)),
            None => Next::Unknown,
        };
        Ok((blocked, next))
    }
}
