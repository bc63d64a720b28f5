//! One run from its start to its outcome: the handler, its end by force where it does not stop, and the end of its lease.

use crate::failure::Failure;
use crate::handler::Handler;
use crate::held::{HeldRuns, Stop};
use crate::outcome::{Outcome, StopReason, after_stop};
use crate::run::Run;
use futures_util::FutureExt;
use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::time::Duration;
use tokio::time::{Instant, sleep, sleep_until};

/// None: there is nothing to say, since the run is not this worker's any more.
pub(crate) async fn attempt(
    handler: &impl Handler,
    run: Run,
    held: &HeldRuns,
    grace: Duration,
) -> Option<Outcome> {
    let (id, stop) = (run.job.run(), run.stop.clone());
    let work = AssertUnwindSafe(handler.handle(run)).catch_unwind();
    let ended = tokio::select! {
        ended = work => Some(ended.unwrap_or_else(|panic| Outcome::Fail(described(&*panic)))),
        () = overdue(&stop, grace) => None,
        () = ask_at_the_end_of_the_lease(held, id) => None,
    };
    let reason = stop.reason();
    if ended.is_none() {
        tracing::warn!(?reason, "the handler did not stop in time and was dropped");
    }
    if reason == Some(StopReason::Lost) {
        tracing::warn!("the run was lost: its lease is over, or others have ended it");
    }
    after_stop(ended, reason)
}

async fn overdue(stop: &Stop, grace: Duration) {
    stop.token().cancelled().await;
    sleep(grace).await;
}

/// Never returns. Heartbeats put off the end of the lease.
async fn ask_at_the_end_of_the_lease(held: &HeldRuns, run: (i64, i32)) {
    while let Some(end) = held.lease_ends(run) {
        if Instant::now() >= end {
            held.stop(run, StopReason::Lost);
            break;
        }
        sleep_until(end).await;
    }
    std::future::pending().await
}

fn described(panic: &(dyn Any + Send)) -> Failure {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("no message");
    Failure::new(format!("the handler has panicked: {text}")).class("panic")
}
