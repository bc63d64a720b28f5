//! When a background worker has to see to what is due, because no claim does.

use super::locked::Locked;
use super::notifier::change_used;
use super::patrol::GRACE;
use super::state::Phase;
use crate::pg::error::Result;
use crate::pg::server::{self, SECOND};
use turnstile_scheduler::Step;
use turnstile_scheduler::times::NEVER;

/// The same of jobs that wait for others: people look on while an order of theirs is carried out, and any claim would do it.
const GRACE_OF_FOLLOW_UPS: i64 = SECOND / 10;
impl Locked<'_> {
    /// When the first queue falls due, or what is not in memory, or runs whose connection is gone, or lanes that may be empty have to be
    /// looked for.
    pub fn due_at(&self) -> i64 {
        match self.state.phase {
            Phase::Ready => self
                .scheduler
                .next_due()
                .min(self.scheduler.leases_outside())
                .min(self.state.gone.next())
                .min(self.state.patrol.doubts_due_at()),
            Phase::Stale | Phase::Rebuilding => NEVER,
        }
    }

    /// When jobs that wait for others have waited too long for a claim to look at them. A worker builds the memory if it must: it may
    /// be that nobody has ever claimed.
    fn follow_ups_overdue_at(&self) -> i64 {
        let follow_ups = &self.state.follow_ups;
        match (self.state.phase, follow_ups.next()) {
            (Phase::Rebuilding, _) | (_, NEVER) => NEVER,
            (_, next) => next
                .max(follow_ups.since())
                .saturating_add(GRACE_OF_FOLLOW_UPS),
        }
    }

    /// Whether a worker has to see to anything but recurring jobs, for which it need not build the memory.
    pub fn wants_patrol(&self) -> bool {
        let due_at = self.due_at();
        due_at.min(self.state.follow_ups.next()) <= server::now()
    }

    /// When what is due first will be overdue. If it is due already, it has been since `since` at the latest.
    fn overdue_at(&mut self, now: i64, since: i64) -> i64 {
        let due_at = self.due_at();
        let patrol = &mut self.state.patrol;
        let from = if due_at <= now {
            patrol.due_since = patrol.due_since.min(since);
            patrol.due_since
        } else {
            patrol.due_since = NEVER;
            due_at
        };
        let not_before = patrol.not_before.max(patrol.claims_until);
        let overdue_at = from.saturating_add(GRACE);
        let fires_at = self.state.recurring.next();
        overdue_at
            .min(self.follow_ups_overdue_at())
            .min(fires_at)
            .max(not_before)
    }

    /// Called at the end of each locked section: the notifier must not sleep past what is noted there.
    pub(super) fn call_patrol(&mut self) {
        let now = server::now();
        let has_doubts = self.scheduler.doubtful_lanes() > 0;
        self.state.patrol.note_doubts(has_doubts, now);
        let at = self.overdue_at(now, now);
        if at < self.state.patrol.looks_at {
            self.state.patrol.looks_at = at;
            self.calls.extend(self.channels.notifier());
        }
    }
}

/// What the notifier has to do for a database.
pub struct Look {
    /// A worker has to be started.
    pub starts: bool,
    /// When to look again.
    pub until: i64,
}

/// None if no database has the slot.
pub fn look(slot: usize) -> Result<Option<Look>> {
    change_used(slot, look_in)
}

fn look_in(memory: &mut Locked) -> Step<Look> {
    let now = server::now();
    // What has fallen due since the last locked section was noted before that.
    let since = memory.due_at();
    let starts = memory.overdue_at(now, since) <= now;
    if starts {
        memory.state.patrol.started(now);
    }
    memory.state.patrol.looks_at = memory.overdue_at(now, since);
    Ok(Look {
        starts,
        until: memory.state.patrol.looks_at,
    })
}
