//! The search among all that have statistics for one that can be given to another name. Where nobody gives way, each commit of a
//! name without statistics would search in vain; so once all were looked at, there is a rest, which the far more active need not keep.

use crate::times::SECOND;

/// How active names are changes slowly.
const REST: i64 = SECOND;
/// How many times as active a name must be to take what another one has.
const FAR_MORE: u64 = 2;

/// All zero: nothing was looked at.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Round {
    /// The slot that was looked at last.
    hand: u32,
    looked_at: u32,
    rests_until: i64,
    /// One more than the least active that was seen in this round, and in the last one; 0: none.
    least: u64,
    last_least: u64,
}

impl Round {
    /// Whether a name that is so active can hope to find anything.
    pub fn may_find(&self, activity: u64, now: i64) -> bool {
        let rests = (self.rests_until.saturating_sub(REST)..self.rests_until).contains(&now);
        !rests || gives_way(self.last_least.wrapping_sub(1), activity)
    }

    /// The slot to look at next.
    pub fn next(&mut self, slots: u32) -> u32 {
        self.hand = self.hand % slots.max(1) + 1;
        self.looked_at = self.looked_at.saturating_add(1);
        self.hand
    }

    /// One was seen that may give way to others.
    pub fn saw(&mut self, activity: u64) {
        self.least = match self.least {
            0 => activity.saturating_add(1),
            least => least.min(activity.saturating_add(1)),
        };
    }

    pub fn has_found(&mut self) {
        *self = Self {
            hand: self.hand,
            ..Self::default()
        };
    }

    /// Rests if all of the slots were looked at.
    pub fn has_not_found(&mut self, slots: u32, now: i64) {
        if self.looked_at >= slots {
            *self = Self {
                hand: self.hand,
                rests_until: now.saturating_add(REST),
                last_least: self.least,
                ..Self::default()
            };
        }
    }
}

/// Whether one that is so active gives way to another. Those that are equally active take nothing from each other: none would keep what
/// it has.
pub fn gives_way(activity: u64, other: u64) -> bool {
    activity == 0 || activity.saturating_mul(FAR_MORE) < other
}
