//! The life of one run: from its start to the moment when there is nothing left for its handler to do.

use crate::attempt::attempt;
use crate::done::Done;
use crate::failure::Failure;
use crate::handler::Handler;
use crate::held::HeldRuns;
use crate::outcome::Outcome;
use crate::run::Run;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, OwnedSemaphorePermit};

/// Of a run that would wait for ever, or go on and on.
const NO_OTHER_CHILDREN: &str = "the run waits for children, but the job has none, or the run was told already how all have ended";

/// What one run needs.
pub(crate) struct Life<H> {
    pub handler: Arc<H>,
    pub held: Arc<HeldRuns>,
    pub freed: Arc<Notify>,
    pub done: Arc<Done>,
    pub grace: Duration,
}

impl<H: Handler> Life<H> {
    pub(crate) async fn of(self, run: Run, permit: Option<OwnedSemaphorePermit>, is_late: bool) {
        let id = run.job.run();
        let outcome = if is_late || self.held.is_over(id) {
            // Claimed at the very moment that the worker was told to stop; or it was held up since, and others may have the job.
            Some(Outcome::Release)
        } else {
            self.until_end(run).await
        };
        if let Some(outcome) = outcome {
            log(&outcome);
            self.held.is_ending(id);
            self.done.add(id, outcome);
        } else {
            self.held.remove(id);
        }
        drop(permit);
        self.freed.notify_one();
    }

    /// A run that waits for children of which none is live goes on, with how they have ended. None: there is nothing to say any more.
    async fn until_end(&self, mut run: Run) -> Option<Outcome> {
        loop {
            let again = run.again();
            let outcome = attempt(&*self.handler, run, &self.held, self.grace).await;
            if !matches!(outcome, Some(Outcome::AwaitChildren)) {
                return outcome;
            }
            let id = again.job.run();
            log(&Outcome::AwaitChildren);
            self.held.is_ending(id);
            let children = self.done.await_children(id).await?;
            if again.job.children.unwrap_or_default() == children {
                return Some(Outcome::Fail(NO_OTHER_CHILDREN.into()));
            }
            run = again;
            run.job.children = Some(children);
        }
    }
}

fn log(outcome: &Outcome) {
    match outcome {
        Outcome::Complete(_) => tracing::debug!("completes"),
        Outcome::Fail(Failure { error, .. }) => tracing::warn!(error, "fails"),
        Outcome::Retry { after, failure } => tracing::warn!(error = failure.error, ?after, "fails"),
        Outcome::Discard(Failure { error, .. }) => tracing::warn!(error, "is discarded"),
        Outcome::Snooze(delay) => tracing::debug!(?delay, "is put off"),
        Outcome::AwaitChildren => tracing::debug!("waits for its children"),
        Outcome::HandOver => tracing::debug!("is handed over"),
        Outcome::Release => tracing::info!("is given back"),
    }
}
