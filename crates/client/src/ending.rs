//! The end of one run, which is sent until the server knows of it.

use crate::backoff::Backoff;
use crate::failure::Failure;
use crate::held::RunId;
use crate::outcome::Outcome;
use crate::run::Children;
use crate::told::Told;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// About a minute. Then it is not the moment that is wrong with an end.
const MOST_REFUSALS: u32 = 20;

pub(crate) struct Ending {
    pub run: RunId,
    pub outcome: Outcome,
    /// Of one that waits for children: told how they have ended if none is live, and then it is no end.
    pub children: Option<oneshot::Sender<Children>>,
    refusals: u32,
    backoff: Backoff,
    told: Told,
    pub due: Option<Instant>,
}

impl Ending {
    pub(crate) fn new(run: RunId, outcome: Outcome) -> Self {
        Self {
            run,
            outcome,
            children: None,
            refusals: 0,
            backoff: Backoff::default(),
            told: Told::default(),
            due: None,
        }
    }

    pub(crate) fn unless_children(run: RunId, children: oneshot::Sender<Children>) -> Self {
        Self {
            children: Some(children),
            ..Self::new(run, Outcome::AwaitChildren)
        }
    }

    /// The run fails instead.
    pub(crate) fn into_failure(self, error: String) -> Self {
        Self {
            children: self.children,
            ..Self::new(self.run, Outcome::Fail(Failure::new(error)))
        }
    }

    /// It has made no call of many fail so far.
    pub(crate) fn is_trusted(&self) -> bool {
        self.refusals == 0
    }

    /// To be sent again. False: that was done often enough.
    pub(crate) fn put_off(&mut self, reason: &str) -> bool {
        let (id, attempt) = self.run;
        if self.told.is_news(reason) {
            tracing::warn!(
                id,
                attempt,
                error = reason,
                "the server does not take the end of the run now; it is sent again"
            );
        }
        self.refusals = self.refusals.saturating_add(1);
        self.due = Some(Instant::now() + self.backoff.next_pause());
        self.refusals <= MOST_REFUSALS
    }

    pub(crate) fn is_due(&self) -> bool {
        self.due.is_none_or(|due| due <= Instant::now())
    }
}
