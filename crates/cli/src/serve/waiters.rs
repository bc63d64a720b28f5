//! Requests that wait for the end of a job.
//!
//! They hold no connection: for each role that has some, one statement ten times a second asks which of their jobs go on. So a thousand
//! of them cost the server what one does, and no role outlives a transaction.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{oneshot, watch};
use tokio_postgres::types::Type;

use super::asked::Asked;
use crate::connection::{Failure, Pool};
use crate::listener::Problem;

const GO_ON: &str = include_str!("go_on.sql");
const PACE: Duration = Duration::from_millis(100);
/// So that a server that comes back is not met by all at once.
const AFTER_FAILURE: Duration = Duration::from_secs(1);
const RETRY_SECONDS: u32 = 5;

#[derive(Clone)]
pub struct Waiters {
    database: Pool,
    most: usize,
    ends: watch::Receiver<Asked>,
    crowd: Arc<Mutex<Crowd>>,
}

#[derive(Default)]
struct Crowd {
    next: u64,
    count: usize,
    /// By role. A role that is here has a task that asks for it.
    roles: HashMap<String, HashMap<u64, Waiter>>,
}

struct Waiter {
    job: i64,
    /// Dropped when the job goes on no longer.
    _wake: oneshot::Sender<()>,
}

impl Waiters {
    pub fn new(database: Pool, most: usize, ends: watch::Receiver<Asked>) -> Self {
        Self {
            database,
            most,
            ends,
            crowd: Arc::default(),
        }
    }

    /// Until the job goes on no longer, as far as the role sees, or the time is over, or this program is to end.
    pub async fn wait(&self, role: &str, job: i64, time: Duration) -> Result<(), Problem> {
        let (place, woken) = self.enter(role, job)?;
        let mut ends = self.ends.clone();
        tokio::select! {
            _ = woken => {}
            () = tokio::time::sleep(time) => {}
            _ = ends.wait_for(|asked| *asked != Asked::Never) => {}
        }
        drop(place);
        Ok(())
    }

    fn enter(&self, role: &str, job: i64) -> Result<(Place, oneshot::Receiver<()>), Problem> {
        let mut crowd = self.lock();
        if crowd.count >= self.most {
            return Err(
                Problem::unavailable("Too many requests wait for ends of jobs.")
                    .retry_after(RETRY_SECONDS),
            );
        }
        let (wake, woken) = oneshot::channel();
        let number = crowd.next;
        crowd.next += 1;
        crowd.count += 1;
        if !crowd.roles.contains_key(role) {
            tokio::spawn(self.clone().ask(role.to_owned()));
        }
        let waiting = crowd.roles.entry(role.to_owned()).or_default();
        waiting.insert(number, Waiter { job, _wake: wake });
        let place = Place {
            crowd: Arc::clone(&self.crowd),
            role: role.to_owned(),
            number,
        };
        Ok((place, woken))
    }

    /// For as long as the role has waiters.
    async fn ask(self, role: String) {
        loop {
            tokio::time::sleep(PACE).await;
            let Some(jobs) = self.jobs(&role) else {
                return;
            };
            match self.go_on(&role, &jobs).await {
                Ok(live) => self.wake_others(&role, &jobs, &live),
                // They learn of it at once, as the answer to looking at their job.
                Err(failure) if failure.is_about_rights() => {
                    self.wake_others(&role, &jobs, &HashSet::new());
                }
                // The server may be there again before their time is over. Each learns of it when it looks at its job.
                Err(failure) => {
                    tracing::debug!(?failure, "ends of jobs are not known");
                    tokio::time::sleep(AFTER_FAILURE).await;
                }
            }
        }
    }

    /// None: there is nobody any more, and none can come without a task of its own.
    fn jobs(&self, role: &str) -> Option<HashSet<i64>> {
        let mut crowd = self.lock();
        let jobs: HashSet<i64> = crowd
            .roles
            .get(role)?
            .values()
            .map(|each| each.job)
            .collect();
        if jobs.is_empty() {
            crowd.roles.remove(role);
            return None;
        }
        Some(jobs)
    }

    async fn go_on(&self, role: &str, jobs: &HashSet<i64>) -> Result<HashSet<i64>, Failure> {
        let ids: Vec<i64> = jobs.iter().copied().collect();
        let rows = self
            .database
            .rows(
                Some(role),
                GO_ON,
                &[(&ids, Type::INT8_ARRAY), (&role, Type::TEXT)],
            )
            .await?;
        Ok(rows.iter().filter_map(|row| row.try_get(0).ok()).collect())
    }

    /// Those who came meanwhile were not asked for.
    fn wake_others(&self, role: &str, asked: &HashSet<i64>, live: &HashSet<i64>) {
        if let Some(waiting) = self.lock().roles.get_mut(role) {
            waiting.retain(|_, each| live.contains(&each.job) || !asked.contains(&each.job));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Crowd> {
        locked(&self.crowd)
    }
}

fn locked(crowd: &Mutex<Crowd>) -> MutexGuard<'_, Crowd> {
    crowd.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Of one waiter, until it goes, also as its client has hung up.
struct Place {
    crowd: Arc<Mutex<Crowd>>,
    role: String,
    number: u64,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut crowd = locked(&self.crowd);
        crowd.count = crowd.count.saturating_sub(1);
        if let Some(waiting) = crowd.roles.get_mut(&self.role) {
            waiting.remove(&self.number);
        }
    }
}
