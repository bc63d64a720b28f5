//! Endings on their way to the server. While one round trip lasts others gather, and go together in the next: no run waits for a
//! timer, and short jobs end many at a time. One that the server has refused for the moment goes alone from then on.

use crate::ending::Ending;
use crate::held::HeldRuns;
use crate::link::{LOST, Link, READ_ONLY};
use crate::outcome::Outcome;
use crate::send::{Answer, send};
use std::sync::Arc;
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// So many runs end in one call at most.
const MOST: usize = 1000;

pub(crate) struct Endings {
    pub link: Arc<Link>,
    pub held: Arc<HeldRuns>,
    /// Told each time that the server knows of an end.
    pub freed: Arc<Notify>,
    /// A run whose result is refused completes without it.
    pub results_are_optional: bool,
}

impl Endings {
    /// Sends until there are no more senders, or it is told to give up. Returns how many ends the server does not know of.
    pub(crate) async fn send_all(
        &self,
        mut coming: mpsc::UnboundedReceiver<Ending>,
        give_up: CancellationToken,
    ) -> usize {
        let mut waiting = Vec::new();
        let mut is_open = true;
        while is_open || !waiting.is_empty() {
            let due = first_due(&waiting);
            tokio::select! {
                received = coming.recv_many(&mut waiting, MOST), if is_open => is_open = received > 0,
                () = reached(due) => {}
                () = give_up.cancelled() => return waiting.len() + coming.len(),
            }
            while waiting.len() < MOST
                && let Ok(ending) = coming.try_recv()
            {
                waiting.push(ending);
            }
            let mut sending: Vec<_> = waiting.extract_if(.., |ending| ending.is_due()).collect();
            if sending.is_empty() {
                continue;
            }
            tokio::select! {
                () = self.round(&mut sending) => waiting.append(&mut sending),
                () = give_up.cancelled() => return waiting.len() + sending.len() + coming.len(),
            }
        }
        0
    }

    /// What had no answer stays, and is sent again: the server knows a run by its attempt, and ends none of them twice.
    async fn round(&self, sending: &mut Vec<Ending>) {
        // An error only where the very first connection is refused, and then the claims have ended with it.
        let Ok(client) = self.link.client().await else {
            return std::future::pending().await;
        };
        let answers = send(&client, &self.held, sending).await;
        let lost = answers.iter().find_map(Answer::lost);
        let no_writes = match answers.iter().find_map(Answer::refused_writes) {
            Some(reason) if self.link.is_read_only(&client).await => Some(reason),
            _ => None,
        };
        *sending = std::mem::take(sending)
            .into_iter()
            .zip(answers.iter().cloned())
            .filter_map(|(ending, answer)| self.settle(ending, answer, no_writes.is_some()))
            .collect();
        self.freed.notify_one();
        match (lost, no_writes) {
            (Some(reason), _) => self.link.give_up(&client, LOST, reason).await,
            (None, Some(reason)) => self.link.give_up(&client, READ_ONLY, reason).await,
            (None, None) => self.link.works(),
        }
    }

    /// Returns what has to be sent again.
    fn settle(&self, mut ending: Ending, answer: Answer, is_read_only: bool) -> Option<Ending> {
        let (id, attempt) = ending.run;
        match answer {
            Answer::Known => {}
            Answer::NoLiveChildren(children) => {
                self.held.goes_on(ending.run);
                _ = ending.children.take().map(|run| run.send(children));
                return None;
            }
            Answer::Superseded => {
                tracing::warn!(
                    id,
                    attempt,
                    "the run was lost, or its end was known: what it did now counts for nothing"
                );
            }
            Answer::Unanswered(_) => return Some(ending),
            Answer::NoWrites(_) if is_read_only => return Some(ending),
            // However often: others may hold a lock for as long as they like.
            Answer::Locked(reason) => {
                self.held.is_put_off(ending.run);
                ending.put_off(&reason);
                return Some(ending);
            }
            Answer::Later(reason) | Answer::NoWrites(reason) => {
                self.held.is_put_off(ending.run);
                return match ending.put_off(&reason) {
                    true => Some(ending),
                    false => self.refused(ending, reason),
                };
            }
            Answer::Refused(error) => return self.refused(ending, error),
        }
        self.held.remove(ending.run);
        None
    }

    /// The run fails instead, if that is not what was refused.
    fn refused(&self, ending: Ending, error: String) -> Option<Ending> {
        let (id, attempt) = ending.run;
        if self.results_are_optional && matches!(ending.outcome, Outcome::Complete(Some(_))) {
            tracing::warn!(
                id,
                attempt,
                error,
                "the server refuses the result, so the run completes without it"
            );
            return Some(Ending::new(ending.run, Outcome::Complete(None)));
        }
        if matches!(ending.outcome, Outcome::Fail(_)) {
            tracing::error!(
                id,
                attempt,
                error,
                "the run cannot be ended; it fails when its lease is over"
            );
            self.held.remove(ending.run);
            return None;
        }
        tracing::error!(
            id,
            attempt,
            error,
            "the server refuses how the run has ended, so it fails"
        );
        Some(ending.into_failure(error))
    }
}

fn first_due(waiting: &[Ending]) -> Option<Instant> {
    let now = Instant::now();
    waiting.iter().map(|ending| ending.due.unwrap_or(now)).min()
}

/// Never, if there is none.
async fn reached(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}
