//! What a claim found in the lane that it picked.

use crate::{Kind, Picked, ReservationId, Scheduler, Step};

/// The rows that a claim saw and took, by position.
#[derive(Clone, Copy, Debug)]
pub struct Outcome<'a> {
    /// Jobs that the claim locked.
    pub taken: &'a [i64],
    /// The first available positions from the picked head on in the claim's snapshot, locked or not, ascending.
    pub seen: &'a [i64],
    /// There were no more than those.
    pub seen_all: bool,
}

impl Scheduler<'_> {
    /// Binds the taken jobs to their reservations, gives the other reservations back and raises the
    /// lane's head, unless the lane was lowered since the pick.
    ///
    /// Returns the position of a job that comes next but is locked by somebody who is not claiming:
    /// the lane is hidden so that the caller can go on, and the caller must lower it there afterwards.
    pub fn settle(
        &mut self,
        picked: &Picked,
        reservations: &[ReservationId],
        outcome: Outcome,
    ) -> Step<Option<i64>> {
        for id in self.assign_taken(reservations, outcome.taken)? {
            self.give_back(*id)?;
        }
        let Some(lane) = self.find_entry(Kind::Lane, picked.spec.lane)? else {
            return Ok(None);
        };
        if self.entry(lane)?.stamp != picked.stamp {
            return Ok(None);
        }
        match self.next_position(picked, outcome)? {
            None => self.free_lane(lane).map(|()| None),
            Some(next) if outcome.taken.is_empty() && may_run(picked, next) => {
                self.free_lane(lane).map(|()| Some(next))
            }
            Some(next) if next > self.entry(lane)?.rank.head => {
                self.move_head(lane, next).map(|()| None)
            }
            Some(_) => Ok(None),
        }
    }

    /// As [`Self::settle`] while the memory waits for a rebuild: only the reservations matter.
    pub fn settle_stale(&mut self, reservations: &[ReservationId], taken: &[i64]) -> Step<()> {
        for id in self.assign_taken(reservations, taken)? {
            self.forget(*id)?;
        }
        Ok(())
    }

    /// Binds the taken jobs to the first reservations and returns the others.
    fn assign_taken<'r>(
        &mut self,
        reservations: &'r [ReservationId],
        taken: &[i64],
    ) -> Step<&'r [ReservationId]> {
        for (&id, &position) in reservations.iter().zip(taken) {
            self.assign(id, position)?;
        }
        Ok(reservations.get(taken.len()..).unwrap_or_default())
    }

    /// The least position that may still be available: the first that was seen and that no open claim
    /// has locked (an abort lowers the head again). None if the lane is empty.
    fn next_position(&self, picked: &Picked, outcome: Outcome) -> Step<Option<i64>> {
        for &position in outcome.seen {
            if !self.is_in_flight(picked.spec.lane, position)? {
                return Ok(Some(position));
            }
        }
        Ok(match outcome.seen.last() {
            Some(last) if !outcome.seen_all => Some(last.saturating_add(1)),
            _ => None,
        })
    }
}

fn may_run(picked: &Picked, position: i64) -> bool {
    picked.bound.is_none_or(|bound| position < bound)
}
