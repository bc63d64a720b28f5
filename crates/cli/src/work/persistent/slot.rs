//! Room for one child, which is replaced when it dies.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::sync::oneshot::error::RecvError;
use tokio::time::sleep;
use turnstile_client::{Outcome, Run};

use super::child::Child;
use super::setup::Setup;
use super::talk::Reply;
use crate::work::limits::Stop;

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

#[derive(Default)]
pub struct Slot(Mutex<State>);

#[derive(Default)]
struct State {
    child: Option<Arc<Child>>,
    /// Children that have failed without an answer, one after the other.
    failures: u32,
}

impl Slot {
    pub async fn work(&self, run: &Run, setup: &Setup) -> Outcome {
        loop {
            let child = tokio::select! {
                child = self.child(run, setup) => child,
                _ = run.stopped() => return Outcome::Release,
            };
            let outcome = match child {
                Ok(child) => talk(&child, run, setup).await,
                Err(outcome) => Some(outcome),
            };
            if let Some(outcome) = outcome {
                return outcome;
            }
        }
    }

    /// One that takes jobs.
    async fn child(&self, run: &Run, setup: &Setup) -> Result<Arc<Child>, Outcome> {
        let mut state = self.0.lock().await;
        if let Some(child) = state.child.as_ref().filter(|child| child.takes_jobs()) {
            return Ok(Arc::clone(child));
        }
        if let Some(gone) = state.child.take() {
            state.failures = match (gone.has_failed(), gone.has_answered()) {
                (true, false) => state.failures.saturating_add(1),
                (failed, _) => u32::from(failed),
            };
        }
        pause_after(state.failures).await;
        let child = Child::start(run, &setup.program, &setup.spawner, setup.limits.grace).await?;
        Ok(Arc::clone(state.child.insert(Arc::new(child))))
    }

    pub async fn close(self: Arc<Self>) {
        let child = self.0.lock().await.child.take();
        if let Some(child) = child.and_then(Arc::into_inner) {
            child.close().await;
        }
    }
}

/// None where the child was gone before it took the job.
async fn talk(child: &Child, run: &Run, setup: &Setup) -> Option<Outcome> {
    let mut replied = match child.ask(&run.job) {
        Ok(replied) => replied,
        Err(error) => return Some(Outcome::Fail(error.into())),
    };
    let stop = tokio::select! {
        reply = &mut replied => return outcome(known(reply), None, setup),
        stop = setup.limits.reached(run) => stop,
    };
    child.stop();
    outcome(known(replied.await), Some(stop), setup)
}

fn known(reply: Result<Reply, RecvError>) -> Reply {
    reply.unwrap_or_else(|_| Reply::Failed("the talk with the command has broken off".to_owned()))
}

fn outcome(reply: Reply, stop: Option<Stop>, setup: &Setup) -> Option<Outcome> {
    Some(match (reply, stop) {
        (Reply::NotTaken, None) => return None,
        (Reply::Answer(answer), None | Some(Stop::Asked(_))) => {
            answer.outcome(setup.limits.retry_in)
        }
        (_, Some(stop)) => Outcome::Fail(stop.failure(stop.to_string())),
        (Reply::Failed(why), None) => Outcome::Fail(why.into()),
        (Reply::Interrupted, None) => Outcome::Release,
    })
}

async fn pause_after(failures: u32) {
    if let Some(doublings) = failures.checked_sub(1) {
        let pause = FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(doublings));
        sleep(pause.min(LONGEST_PAUSE)).await;
    }
}
