//! The runs that this worker has: from the claim until the server knows how they have ended.

use crate::outcome::StopReason;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The run's name: the id of the job, and the attempt.
pub(crate) type RunId = (i64, i32);

/// A request to stop, seen by the handler.
#[derive(Clone, Default)]
pub(crate) struct Stop {
    token: CancellationToken,
    reason: Arc<OnceLock<StopReason>>,
}

impl Stop {
    /// The first reason counts.
    pub(crate) fn ask(&self, reason: StopReason) {
        let _ = self.reason.set(reason);
        self.token.cancel();
    }

    pub(crate) fn reason(&self) -> Option<StopReason> {
        self.reason.get().copied()
    }

    pub(crate) fn token(&self) -> &CancellationToken {
        &self.token
    }
}

struct Held {
    stop: Stop,
    lease: Duration,
    /// How often it says that it is alive.
    interval: Duration,
    next_beat: Instant,
    /// By the clock of this machine, and rather too early.
    lease_ends: Instant,
    /// The handler is done; the server does not know it yet.
    is_ending: bool,
    /// The server has not taken its end so far, and nobody waits for that.
    is_put_off: bool,
}

/// A run that has to say that it is alive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Beat {
    pub run: RunId,
    pub lease: Duration,
}

#[derive(Default)]
pub(crate) struct HeldRuns {
    runs: Mutex<HashMap<RunId, Held>>,
    /// A run has come.
    changed: Notify,
    /// A run has gone.
    gone: Notify,
}

impl HeldRuns {
    /// `asked`: when the claim was made.
    pub(crate) fn add(
        &self,
        run: RunId,
        lease: Duration,
        longest_interval: Duration,
        asked: Instant,
    ) -> Stop {
        let interval = (lease / 3).min(longest_interval);
        let stop = Stop::default();
        let held = Held {
            stop: stop.clone(),
            lease,
            interval,
            next_beat: asked + interval,
            lease_ends: asked + lease,
            is_ending: false,
            is_put_off: false,
        };
        self.lock().insert(run, held);
        self.changed.notify_one();
        stop
    }

    pub(crate) fn is_ending(&self, run: RunId) {
        if let Some(held) = self.lock().get_mut(&run) {
            held.is_ending = true;
        }
    }

    pub(crate) fn is_put_off(&self, run: RunId) {
        if let Some(held) = self.lock().get_mut(&run) {
            held.is_put_off = true;
        }
        self.gone.notify_waiters();
    }

    /// Unless it was lost meanwhile.
    pub(crate) fn goes_on(&self, run: RunId) {
        if let Some(held) = self.lock().get_mut(&run) {
            held.is_ending = false;
        }
    }

    pub(crate) fn remove(&self, run: RunId) {
        self.lock().remove(&run);
        self.gone.notify_waiters();
    }

    /// Returns when the server knows the end of each run whose handler is done, but for those that it does not take now.
    pub(crate) async fn all_ends_known(&self) {
        loop {
            let gone = self.gone.notified();
            if !self
                .lock()
                .values()
                .any(|held| held.is_ending && !held.is_put_off)
            {
                return;
            }
            gone.await;
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    /// How long a run counts as alive after a heartbeat.
    pub(crate) fn lease(&self, run: RunId) -> Option<Duration> {
        self.lock().get(&run).map(|held| held.lease)
    }

    /// When the lease of a run is over, unless a heartbeat extends it meanwhile.
    pub(crate) fn lease_ends(&self, run: RunId) -> Option<Instant> {
        self.lock().get(&run).map(|held| held.lease_ends)
    }

    /// Whether the lease has ended, as far as is known.
    pub(crate) fn is_over(&self, run: RunId) -> bool {
        self.lease_ends(run)
            .is_some_and(|end| Instant::now() >= end)
    }

    pub(crate) fn stop(&self, run: RunId, reason: StopReason) {
        if let Some(held) = self.lock().get(&run) {
            // What it has done by now is sent as it is, and the server decides.
            if !held.is_ending {
                held.stop.ask(reason);
            }
        }
    }

    pub(crate) fn stop_all(&self, reason: StopReason) {
        for held in self.lock().values() {
            held.stop.ask(reason);
        }
    }

    pub(crate) fn next_beat(&self) -> Option<Instant> {
        self.lock().values().map(|held| held.next_beat).min()
    }

    /// The runs that are due, with those that are nearly so, which saves a call.
    pub(crate) fn take_due(&self) -> Vec<Beat> {
        let now = Instant::now();
        let mut due: Vec<Beat> = (self.lock().iter_mut())
            .filter(|(_, held)| held.next_beat <= now + held.interval / 3)
            .map(|(&run, held)| {
                held.next_beat = now + held.interval;
                let lease = held.lease;
                Beat { run, lease }
            })
            .collect();
        // Everybody locks rows by id.
        due.sort_unstable_by_key(|beat| beat.run);
        due
    }

    /// Whether the runs are still this worker's is to be asked soon.
    pub(crate) fn beat_now(&self) {
        let now = Instant::now();
        for held in self.lock().values_mut() {
            held.next_beat = now;
        }
        self.changed.notify_one();
    }

    /// The server has extended the lease, after it was asked at that time.
    pub(crate) fn beat(&self, run: RunId, asked: Instant) {
        if let Some(held) = self.lock().get_mut(&run) {
            held.lease_ends = asked + held.lease;
        }
    }

    /// Returns when a run has come since the last time.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RunId, Held>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(30);
    const HOUR: Duration = Duration::from_secs(3600);

    fn add(runs: &HeldRuns, run: RunId, lease: Duration) -> Stop {
        runs.add(run, lease, HOUR, Instant::now())
    }

    fn due(runs: &HeldRuns) -> Vec<RunId> {
        runs.take_due().iter().map(|beat| beat.run).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_beats_three_times_in_its_lease() {
        let runs = HeldRuns::default();
        add(&runs, (1, 1), LEASE);
        assert!(due(&runs).is_empty());
        for _ in 0..3 {
            tokio::time::advance(LEASE / 3).await;
            assert_eq!(due(&runs), [(1, 1)]);
            assert!(due(&runs).is_empty());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn under_a_long_lease_it_still_hears_of_its_cancellation() {
        let runs = HeldRuns::default();
        runs.add((1, 1), HOUR, Duration::from_secs(15), Instant::now());
        tokio::time::advance(Duration::from_secs(15)).await;
        assert_eq!(due(&runs), [(1, 1)]);
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_nearly_due_beats_with_the_others_and_all_by_id() {
        let runs = HeldRuns::default();
        add(&runs, (2, 1), LEASE);
        tokio::time::advance(LEASE / 10).await;
        add(&runs, (1, 1), LEASE);
        tokio::time::advance(LEASE / 4).await;
        add(&runs, (3, 1), LEASE);
        assert_eq!(due(&runs), [(1, 1), (2, 1)]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_begins_when_the_claim_is_made_and_not_when_its_answer_is_seen() {
        let runs = HeldRuns::default();
        let asked = Instant::now();
        tokio::time::advance(LEASE).await;
        runs.add((1, 1), LEASE, HOUR, asked);
        add(&runs, (2, 1), LEASE);
        assert!(runs.is_over((1, 1)) && !runs.is_over((2, 1)));
        assert_eq!(due(&runs), [(1, 1)]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_is_extended_from_the_moment_of_asking() {
        let runs = HeldRuns::default();
        add(&runs, (1, 1), LEASE);
        let asked = Instant::now();
        tokio::time::advance(LEASE / 2).await;
        runs.beat((1, 1), asked);
        assert_eq!(runs.lease_ends((1, 1)), Some(asked + LEASE));
        assert_eq!(runs.lease_ends((9, 1)), None);
    }

    #[tokio::test]
    async fn who_waits_for_ends_waits_for_all_of_them_and_for_no_other_run() {
        let runs = HeldRuns::default();
        for id in 1..=3 {
            add(&runs, (id, 1), LEASE);
        }
        runs.all_ends_known().await;
        runs.is_ending((1, 1));
        runs.is_ending((2, 1));
        let mut known = std::pin::pin!(runs.all_ends_known());
        runs.remove((1, 1));
        assert!(futures_util::poll!(&mut known).is_pending());
        runs.remove((2, 1));
        known.await;
    }

    #[tokio::test]
    async fn the_first_reason_to_stop_counts_and_none_after_the_end() {
        let runs = HeldRuns::default();
        let stop = add(&runs, (1, 1), LEASE);
        runs.stop((1, 1), StopReason::Cancelled);
        runs.stop_all(StopReason::Shutdown);
        assert_eq!(stop.reason(), Some(StopReason::Cancelled));
        assert!(stop.token().is_cancelled());

        let ended = add(&runs, (2, 1), LEASE);
        runs.is_ending((2, 1));
        runs.stop((2, 1), StopReason::Lost);
        assert_eq!(ended.reason(), None);
        assert_eq!(runs.len(), 2);
    }
}
