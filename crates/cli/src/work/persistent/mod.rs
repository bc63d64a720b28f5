//! Long-lived children, one for each job that runs at a time: a line with the job goes in, a line with the answer comes out.
//!
//! `protocol` is what the lines say, `child` a child that talks, `slot` its life and that of the next one.

mod child;
mod protocol;
mod slot;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::task::JoinSet;
use turnstile_client::{Handler, Outcome, Run};

use super::limits::Limits;
use super::process::Spawner;
use super::program::Program;
use slot::Slot;

pub struct Persistent {
    pub program: Program,
    pub limits: Limits,
    pub spawner: Spawner,
    idle: Idle,
}

/// The slots in which no job runs. The one that was used last is used next, so there are no more children than are needed.
#[derive(Clone, Default)]
pub struct Idle(Arc<Mutex<Vec<Slot>>>);

impl Persistent {
    pub fn new(program: Program, limits: Limits, spawner: Spawner) -> Self {
        Self {
            program,
            limits,
            spawner,
            idle: Idle::default(),
        }
    }

    pub fn idle(&self) -> Idle {
        self.idle.clone()
    }
}

impl Handler for Persistent {
    async fn handle(&self, run: Run) -> Outcome {
        let mut slot = self.idle.lock().pop().unwrap_or_default();
        let outcome = slot.work(&run, self).await;
        self.idle.lock().push(slot);
        outcome
    }
}

impl Idle {
    /// The end of their input tells the children to go.
    pub async fn close(&self, limits: Limits) {
        let slots = std::mem::take(&mut *self.lock());
        let mut leaving = JoinSet::new();
        for slot in slots {
            leaving.spawn(slot.close(limits.grace));
        }
        leaving.join_all().await;
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Slot>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
