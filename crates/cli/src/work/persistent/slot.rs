//! Room for one job at a time, with a child that is replaced when it dies.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout, timeout_at};
use turnstile_client::{Outcome, Run};

use super::Persistent;
use super::child::{Child, NoAnswer};
use super::protocol::Answer;
use crate::work::limits::Stop;

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

#[derive(Default)]
pub struct Slot {
    child: Option<Child>,
    /// Children that have gone without an answer, one after the other.
    failures: u32,
}

/// What has come of a question.
enum Talk {
    Said(Result<Answer, NoAnswer>),
    /// The child was told to stop, and may have answered all the same.
    Stopped(Stop, Option<Answer>),
}

impl Slot {
    pub async fn work(&mut self, run: &Run, all: &Persistent) -> Outcome {
        let mut child = match self.ready(run, all).await {
            Ok(child) => child,
            Err(outcome) => return outcome,
        };
        child.forget_errors();
        match talk(&mut child, run, all).await {
            Talk::Said(Ok(answer)) => {
                self.failures = 0;
                self.child = Some(child);
                answer.outcome(all.limits.retry_in)
            }
            Talk::Said(Err(NoAnswer::Gone)) => {
                self.failures = self.failures.saturating_add(1);
                Outcome::Fail(child.end().await)
            }
            Talk::Said(Err(NoAnswer::Wrong(what))) => {
                // The next line might be the rest of this answer.
                self.failures = self.failures.saturating_add(1);
                Outcome::Fail(what)
            }
            Talk::Stopped(Stop::Asked(_), Some(answer)) => answer.outcome(all.limits.retry_in),
            Talk::Stopped(stop, _) => Outcome::Fail(stop.to_string()),
        }
    }

    /// A child that lives. An outcome where there is none, or where the run has to stop before there is one.
    async fn ready(&mut self, run: &Run, all: &Persistent) -> Result<Child, Outcome> {
        if let Some(child) = self.child.take() {
            match child.unfit() {
                None => return Ok(child),
                Some(why) => tracing::warn!("{why}"),
            }
        }
        tokio::select! {
            () = pause_after(self.failures) => {}
            _ = run.stopped() => return Err(Outcome::Release),
        }
        Child::start(run, &all.program, &all.spawner).await
    }

    pub async fn close(self, grace: Duration) {
        if let Some(child) = self.child {
            child.close(grace).await;
        }
    }
}

async fn talk(child: &mut Child, run: &Run, all: &Persistent) -> Talk {
    let Child { group, lines, .. } = child;
    let mut asking = std::pin::pin!(lines.ask(&run.job));
    let stop = tokio::select! {
        said = &mut asking => return Talk::Said(said),
        stop = all.limits.reached(run) => stop,
    };
    group.terminate();
    let deadline = Instant::now() + all.limits.grace;
    let answer = timeout_at(deadline, asking).await;
    let answer = answer.ok().and_then(Result::ok);
    if timeout_at(deadline, group.end()).await.is_err() {
        tracing::warn!("the command did not stop in time and is killed");
        group.kill();
        _ = timeout(all.limits.grace, group.end()).await;
    }
    Talk::Stopped(stop, answer)
}

async fn pause_after(failures: u32) {
    if let Some(doublings) = failures.checked_sub(1) {
        let pause = FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(doublings));
        sleep(pause.min(LONGEST_PAUSE)).await;
    }
}
