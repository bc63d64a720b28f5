//! Ends on their way: a plain completion goes along with the next claim, if one is about to be made, which saves the server a
//! transaction; all others go to `Endings`.

use crate::ending::Ending;
use crate::held::RunId;
use crate::outcome::Outcome;
use crate::run::Children;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::{mpsc, oneshot};

pub(crate) struct Done {
    ends: mpsc::UnboundedSender<Ending>,
    /// None: no claim is about to be made.
    with_next_claim: Mutex<Option<Vec<RunId>>>,
}

impl Done {
    pub(crate) fn new(ends: mpsc::UnboundedSender<Ending>) -> Self {
        Self {
            ends,
            with_next_claim: Mutex::default(),
        }
    }

    pub(crate) fn add(&self, run: RunId, outcome: Outcome) {
        if let (Outcome::Complete(None), Some(runs)) = (&outcome, &mut *self.lock()) {
            runs.push(run);
        } else {
            self.send(Ending::new(run, outcome));
        }
    }

    /// The run waits for its children. Without live ones it goes on: they are how all have ended.
    pub(crate) async fn await_children(&self, run: RunId) -> Option<Children> {
        let (answer, answered) = oneshot::channel();
        self.send(Ending::unless_children(run, answer));
        answered.await.ok()
    }

    /// The runs that the claim is to complete. Others may follow while it lasts.
    pub(crate) fn take(&self) -> Vec<RunId> {
        let mut runs = self.lock().replace(Vec::new()).unwrap_or_default();
        // Everybody locks rows by id.
        runs.sort_unstable();
        runs
    }

    /// No claim follows for a while.
    pub(crate) fn let_go(&self) {
        let runs = self.lock().take();
        self.send_again(runs.unwrap_or_default());
    }

    /// A claim had no answer. The server ends no run twice.
    pub(crate) fn send_again(&self, runs: Vec<RunId>) {
        for run in runs {
            self.send(Ending::new(run, Outcome::Complete(None)));
        }
    }

    fn send(&self, ending: Ending) {
        // It fails only if the worker has given up what is left.
        let _ = self.ends.send(ending);
    }

    fn lock(&self) -> MutexGuard<'_, Option<Vec<RunId>>> {
        self.with_next_claim
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(ends: &mut mpsc::UnboundedReceiver<Ending>) -> Vec<RunId> {
        std::iter::from_fn(|| ends.try_recv().ok())
            .map(|ending| ending.run)
            .collect()
    }

    #[test]
    fn completions_go_along_with_claims_for_as_long_as_claims_are_made() {
        let (ends, mut coming) = mpsc::unbounded_channel();
        let done = Done::new(ends);
        done.add((1, 1), Outcome::Complete(None));
        assert_eq!(sent(&mut coming), [(1, 1)]);
        assert!(done.take().is_empty());
        done.add((3, 1), Outcome::Complete(None));
        done.add((2, 1), Outcome::Complete(None));
        done.add((4, 1), Outcome::Release);
        assert_eq!(sent(&mut coming), [(4, 1)]);
        assert_eq!(done.take(), [(2, 1), (3, 1)]);
        done.add((5, 1), Outcome::Complete(None));
        done.let_go();
        done.add((6, 1), Outcome::Complete(None));
        assert_eq!(sent(&mut coming), [(5, 1), (6, 1)]);
    }
}
