//! How a run ends, as its handler says it.

use crate::failure::Failure;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use std::time::Duration;

/// How a run ends.
///
/// A handler may return anything that becomes one: `()` completes the run, `Ok` does what is in it, and `Err` fails the run with
/// the error as text.
#[derive(Debug)]
pub enum Outcome {
    /// The job is done; the result, if there is one, is kept with it.
    Complete(Option<Box<RawValue>>),
    /// The attempt has failed. A retry curve or the queue says when the next one is due, if any is left.
    Fail(Failure),
    /// The attempt has failed, and the next one is due after this time, if any is left. Unlike `Fail` it stays a failure where the worker
    /// shuts down.
    Retry {
        /// How long from now. Without it a retry curve or the queue says.
        after: Option<Duration>,
        /// Kept with the job.
        failure: Failure,
    },
    /// The attempt has failed, and no other would do better.
    Discard(Failure),
    /// Put off: the job can be claimed again after this time. The attempt does not count.
    Snooze(Duration),
    /// The job waits for children that the run has added, and runs again once none of them is live. Where none is live by now the
    /// handler is called again for the same run, with [`Job::children`](crate::Job::children); and if it was told of the same ones before,
    /// or the job has none at all, the run fails.
    AwaitChildren,
    /// Others go on with the run and end it, by the job and the attempt. It must say that it is alive before its lease
    /// is over, and is no longer bound to a connection.
    HandOver,
    /// Given back: another worker takes the job, and the attempt does not count.
    Release,
}

impl Outcome {
    /// Completes the run with a result. What is no JSON fails it instead.
    pub fn result(value: &impl Serialize) -> Self {
        match to_raw_value(value) {
            Ok(result) => Outcome::Complete(Some(result)),
            Err(error) => Outcome::Fail(Failure::new(format!("the result is no JSON: {error}"))),
        }
    }
}

impl From<()> for Outcome {
    fn from((): ()) -> Self {
        Outcome::Complete(None)
    }
}

impl<T: Into<Outcome>, E: Into<Failure>> From<Result<T, E>> for Outcome {
    fn from(result: Result<T, E>) -> Self {
        match result {
            Ok(outcome) => outcome.into(),
            Err(error) => Outcome::Fail(error.into()),
        }
    }
}

/// Why a run should stop before it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The cancellation of the job was asked for.
    Cancelled,
    /// The lease is over, or others have ended the run: it may run elsewhere already.
    Lost,
    /// The worker shuts down, and the time that runs had to end is over.
    Shutdown,
}

/// What a stopped run leaves behind, if its handler was told to stop.
pub(crate) fn after_stop(outcome: Option<Outcome>, stop: Option<StopReason>) -> Option<Outcome> {
    match (outcome, stop) {
        (outcome, None) => outcome,
        (Some(done @ Outcome::Complete(_)), Some(_)) => Some(done),
        // Makes the server cancel it.
        (_, Some(StopReason::Cancelled)) => Some(Outcome::Fail("cancelled".into())),
        (_, Some(StopReason::Lost)) => None,
        // That it could not go on to its end is not its failure.
        (None | Some(Outcome::Fail(_)), Some(StopReason::Shutdown)) => Some(Outcome::Release),
        (outcome, Some(StopReason::Shutdown)) => outcome,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_handlers_return_becomes_an_outcome() {
        assert!(matches!(().into(), Outcome::Complete(None)));
        assert!(matches!(
            Ok::<_, String>(Outcome::AwaitChildren).into(),
            Outcome::AwaitChildren
        ));
        match Outcome::from(Err::<(), _>("no such address")) {
            Outcome::Fail(failure) => assert_eq!(failure, Failure::new("no such address")),
            other => panic!("{other:?}"),
        }
        let busy = Failure::new("line busy").class("busy");
        match Outcome::from(Err::<(), _>(busy.clone())) {
            Outcome::Fail(failure) => assert_eq!(failure, busy),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_stopped_run_that_is_done_completes() {
        for stop in [
            StopReason::Cancelled,
            StopReason::Lost,
            StopReason::Shutdown,
        ] {
            let ended = after_stop(Some(Outcome::Complete(None)), Some(stop));
            assert!(matches!(ended, Some(Outcome::Complete(None))), "{stop:?}");
        }
    }

    #[test]
    fn who_could_not_end_in_time_is_given_back() {
        let shutdown = Some(StopReason::Shutdown);
        assert!(matches!(after_stop(None, shutdown), Some(Outcome::Release)));
        let failed = Some(Outcome::Fail("interrupted".into()));
        assert!(matches!(
            after_stop(failed, shutdown),
            Some(Outcome::Release)
        ));
        let discarded = Some(Outcome::Discard("no such user".into()));
        assert!(matches!(
            after_stop(discarded, shutdown),
            Some(Outcome::Discard(_))
        ));
    }

    #[test]
    fn a_lost_run_says_nothing() {
        let failed = Some(Outcome::Fail("interrupted".into()));
        assert!(after_stop(failed, Some(StopReason::Lost)).is_none());
    }

    #[test]
    fn a_cancelled_run_is_cancelled_whatever_else_it_says() {
        let snoozed = Some(Outcome::Snooze(Duration::ZERO));
        let ended = after_stop(snoozed, Some(StopReason::Cancelled));
        assert!(matches!(ended, Some(Outcome::Fail(_))));
    }
}
