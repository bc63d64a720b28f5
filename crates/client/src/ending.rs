//! Endings on their way to the server. While one round trip lasts others gather, and go together in the next: no run waits for a
//! timer, and short jobs end many at a time.

use crate::backoff::Backoff;
use crate::held::{HeldRuns, RunId};
use crate::link::Link;
use crate::outcome::Outcome;
use crate::send::{Answer, send};
use std::sync::Arc;
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

/// So many runs end in one call at most.
const MOST: usize = 1000;

pub(crate) struct Ending {
    pub run: RunId,
    pub outcome: Outcome,
}

pub(crate) struct Endings {
    pub link: Arc<Link>,
    pub held: Arc<HeldRuns>,
    /// Told each time that the server knows of an end.
    pub freed: Arc<Notify>,
}

impl Endings {
    /// Sends until there are no more senders, or it is told to give up. Returns how many ends the server does not know of.
    pub(crate) async fn send_all(
        &self,
        mut coming: mpsc::UnboundedReceiver<Ending>,
        give_up: CancellationToken,
    ) -> usize {
        let mut waiting = Vec::new();
        let mut backoff = Backoff::default();
        loop {
            if waiting.is_empty() && coming.recv_many(&mut waiting, MOST).await == 0 {
                return 0;
            }
            tokio::select! {
                () = self.round(&mut waiting, &mut backoff) => {}
                () = give_up.cancelled() => return waiting.len() + coming.len(),
            }
            while waiting.len() < MOST
                && let Ok(ending) = coming.try_recv()
            {
                waiting.push(ending);
            }
        }
    }

    /// What had no answer stays, and is sent again: the server knows a run by its attempt, and ends none of them twice.
    async fn round(&self, waiting: &mut Vec<Ending>, backoff: &mut Backoff) {
        // An error only where the very first connection is refused, and then the claims have ended with it.
        let Ok(client) = self.link.client().await else {
            return std::future::pending().await;
        };
        let answers = send(&client, waiting).await;
        let lost = answers.contains(&Answer::Unanswered);
        *waiting = std::mem::take(waiting)
            .into_iter()
            .zip(answers)
            .filter_map(|(ending, answer)| self.settle(ending, answer))
            .collect();
        self.freed.notify_one();
        if lost {
            self.link.give_up(&client).await;
        } else {
            self.link.works();
        }
        match waiting.is_empty() {
            true => backoff.reset(),
            false => tokio::time::sleep(backoff.next_pause()).await,
        }
    }

    /// Returns what has to be sent again.
    fn settle(&self, ending: Ending, answer: Answer) -> Option<Ending> {
        let (id, attempt) = ending.run;
        match answer {
            Answer::Known => {}
            Answer::Superseded => {
                tracing::warn!(
                    id,
                    attempt,
                    "the run was lost, or its end was known: what it did now counts for nothing"
                );
            }
            Answer::Unanswered | Answer::Later => return Some(ending),
            Answer::Refused(error) if matches!(ending.outcome, Outcome::Fail(_)) => {
                tracing::error!(
                    id,
                    attempt,
                    error,
                    "the run cannot be ended; it fails when its lease is over"
                );
            }
            Answer::Refused(error) => {
                tracing::error!(
                    id,
                    attempt,
                    error,
                    "the server refuses how the run has ended, so it fails"
                );
                let outcome = Outcome::Fail(error);
                return Some(Ending { outcome, ..ending });
            }
        }
        self.held.remove(ending.run);
        None
    }
}
