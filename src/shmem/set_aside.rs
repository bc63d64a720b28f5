//! Lanes whose next job is locked by a transaction that is not claiming. They are hidden from sleeping backends for a
//! while.
//!
//! Nothing reports when such a transaction releases a row. If the lane stayed visible, it would wake one sleeping
//! backend after the other. So a claim that found the row locked sets the lane aside, until the next claim or until
//! it is time for another look. Where it has tried many such rows, the next claims leave the lane alone for as long as they
//! find something else: what an abort gives back is told at once, and makes the lane visible.

use crate::pg::seeded::{Seeded, armed};
use turnstile_scheduler::times::{NEVER, SECOND};
use turnstile_scheduler::{LaneSpec, MANY_HELD};

/// Any more lanes stay visible.
const MOST: usize = 256;
/// What another transaction has locked is looked at again after this time.
pub const LOCKED_AGAIN: i64 = SECOND / 10;
/// Microseconds for each job that was tried: some ten times as long as that took.
const REST: i64 = 10;

/// Jobs that were passed over: where they begin, and for how long claims leave them alone that find something else.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Passed {
    pub spec: LaneSpec,
    pub position: i64,
    pub rest: i64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Place {
    spec: LaneSpec,
    position: i64,
    rests_until: i64,
}

#[derive(Debug)]
pub struct SetAside {
    lanes: [Place; MOST],
    count: usize,
    until: i64,
}

impl Default for SetAside {
    fn default() -> Self {
        Self {
            lanes: [Place::default(); MOST],
            count: 0,
            until: NEVER,
        }
    }
}

impl SetAside {
    pub(super) fn until(&self) -> i64 {
        if self.count > 0 { self.until } else { NEVER }
    }

    /// False if there are too many.
    pub(super) fn add(&mut self, passed: &Passed, now: i64) -> bool {
        let rests_until = now.saturating_add(passed.rest);
        let mut known = self.lanes.iter_mut().take(self.count);
        let place = known.find(|place| place.spec.lane == passed.spec.lane);
        if let Some(place) = place {
            place.position = place.position.min(passed.position);
            place.rests_until = place.rests_until.max(rests_until);
        } else if let Some(place) = self.lanes.get_mut(self.count) {
            *place = Place {
                spec: passed.spec,
                position: passed.position,
                rests_until,
            };
            self.count += 1;
        } else {
            return false;
        }
        self.until = now.saturating_add(LOCKED_AGAIN);
        true
    }

    /// One that does not rest, and is no longer set aside.
    pub(super) fn take_one(&mut self, now: i64) -> Option<(LaneSpec, i64)> {
        let mut places = self.lanes.iter().take(self.count);
        let at = places.position(|place| place.rests_until <= now)?;
        let last = self.count - 1;
        self.lanes.swap(at, last);
        self.count = last;
        let place = self.lanes.get(last)?;
        Some((place.spec, place.position))
    }

    pub(super) fn forget(&mut self) {
        self.count = 0;
    }
}

/// For a lane in which so many jobs were tried.
pub fn rest_after(tried: usize) -> i64 {
    match tried < MANY_HELD || armed(Seeded::TryWhatRests) {
        true => 0,
        false => {
            i64::try_from(tried).map_or(LOCKED_AGAIN, |tried| (tried * REST).min(LOCKED_AGAIN))
        }
    }
}
