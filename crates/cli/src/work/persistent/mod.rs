//! Long-lived children: a line with a job goes in, a line with the answer comes out.
//!
//! `protocol` is what the lines say, `talk` what goes on with a child, `record` what is known of that, `child` how others see it, `slot` its
//! life and that of the next one, and `setup` how each of them is started.

mod child;
mod protocol;
mod record;
mod setup;
mod slot;
mod talk;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::task::JoinSet;
use turnstile_client::{Handler, Outcome, Run};

pub use setup::Setup;
use slot::Slot;

pub struct Persistent {
    pub setup: Setup,
    /// How many jobs a child may have at once.
    pub jobs_each: usize,
    pub crew: Crew,
}

/// All slots.
#[derive(Clone, Default)]
pub struct Crew(Arc<Mutex<Vec<Member>>>);

#[derive(Default)]
struct Member {
    slot: Arc<Slot>,
    jobs: usize,
}

/// Room for a job, until it is dropped.
struct Place<'c> {
    crew: &'c Crew,
    slot: Arc<Slot>,
}

impl Handler for Persistent {
    async fn handle(&self, run: Run) -> Outcome {
        let place = self.crew.take_place(self.jobs_each);
        place.slot.work(&run, &self.setup).await
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut members = self.crew.lock();
        let mut members = members.iter_mut();
        if let Some(member) = members.find(|member| Arc::ptr_eq(&member.slot, &self.slot)) {
            member.jobs -= 1;
        }
    }
}

impl Crew {
    /// In the first slot that has room, so there are no more children than are needed.
    fn take_place(&self, jobs_each: usize) -> Place<'_> {
        let mut members = self.lock();
        let with_room = members.iter().position(|member| member.jobs < jobs_each);
        let at = with_room.unwrap_or_else(|| {
            members.push(Member::default());
            members.len() - 1
        });
        let slot = members.get_mut(at).map(|member| {
            member.jobs += 1;
            Arc::clone(&member.slot)
        });
        Place {
            crew: self,
            slot: slot.unwrap_or_default(),
        }
    }

    /// The end of their input tells the children to go.
    pub async fn close(&self) {
        let members = std::mem::take(&mut *self.lock());
        let mut leaving = JoinSet::new();
        for member in members {
            leaving.spawn(member.slot.close());
        }
        leaving.join_all().await;
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Member>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
