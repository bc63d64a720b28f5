//! Changes of all jobs that a filter chooses, in chunks: they go on when the browser has gone, and can be stopped.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use serde::de::DeserializeOwned;
use tokio::sync::{Semaphore, watch};

use super::filter::Filter;
use super::identity::{Access, Identity};
use super::readings::{self, Readings, has_timed_out};
use super::value::Value;
use crate::listener::Problem;
use crate::serve::asked::Asked;

const RETRY: &str = include_str!("levers/sql/retry_many.sql");
const CANCEL: &str = include_str!("levers/sql/cancel_many.sql");
const DISCARD: &str = include_str!("levers/sql/discard_many.sql");

/// Jobs a call: fewer where a call takes long, so that no transaction does. To find them may take long however few they are, so a chunk gets
/// no smaller than the first one but where it is given up.
const FIRST_CHUNK: i32 = 200;
const LARGEST_CHUNK: i32 = 2_000;
const QUICK: Duration = Duration::from_millis(800);
const SLOW: Duration = Duration::from_secs(2);
/// To look through all jobs for the few that match takes longer than a page may.
const STATEMENT: Duration = Duration::from_secs(30);
/// Changes that are remembered, and that go on at once: of all viewers, and of those with the same identity.
const REMEMBERED: usize = 200;
const AT_ONCE: usize = 16;
const AT_ONCE_OF_ONE: usize = 8;
/// So many calls on end that find fewer jobs than they could change are the last: what others had locked was looked for again. Jobs that
/// are put off again as soon as they were retried would be found for ever.
const SHORT: u32 = 3;
/// Of those that go on, how many ask the server at the same time. Pages need connections, too.
const TURNS: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    Retry,
    Cancel,
    Discard,
}

impl Deed {
    fn sql(self) -> &'static str {
        match self {
            Deed::Retry => RETRY,
            Deed::Cancel => CANCEL,
            Deed::Discard => DISCARD,
        }
    }
}

pub struct Changes {
    next: AtomicU64,
    known: Mutex<BTreeMap<u64, Arc<Change>>>,
    turns: Semaphore,
    readings: Arc<Readings>,
    ends: watch::Receiver<Asked>,
}

pub struct Change {
    pub deed: Deed,
    pub filter: Filter,
    pub began: SystemTime,
    /// What the preview counted, if it did.
    pub expected: Option<i64>,
    identity: Identity,
    is_stopped: AtomicBool,
    progress: Mutex<Progress>,
}

#[derive(Clone, Debug, Default)]
pub struct Progress {
    pub jobs: i64,
    pub end: Option<End>,
}

#[derive(Clone, Debug)]
pub enum End {
    /// Nothing is left that matches.
    Done,
    Stopped,
    Failed(Problem),
}

impl Change {
    pub fn progress(&self) -> Progress {
        self.lock().clone()
    }

    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        self.lock().end.is_some()
    }
}

impl Changes {
    /// What was read is read anew after each change. None goes on when this program is to end.
    pub fn new(readings: Arc<Readings>, ends: watch::Receiver<Asked>) -> Self {
        Self {
            next: AtomicU64::default(),
            known: Mutex::default(),
            turns: Semaphore::new(TURNS),
            readings,
            ends,
        }
    }

    /// The number under which it can be found again, by a viewer with the same identity.
    pub fn start(
        self: &Arc<Self>,
        access: &Access,
        deed: Deed,
        filter: Filter,
        expected: Option<i64>,
    ) -> Result<u64, Problem> {
        let change = Arc::new(Change {
            deed,
            filter,
            began: SystemTime::now(),
            expected,
            identity: access.identity().clone(),
            is_stopped: AtomicBool::new(false),
            progress: Mutex::default(),
        });
        let work = Work::of(&change, access)?;
        let number = self.enter(Arc::clone(&change))?;
        tokio::spawn(go_on(Arc::clone(self), change, work));
        Ok(number)
    }

    fn enter(&self, change: Arc<Change>) -> Result<u64, Problem> {
        let mut known = self.lock();
        let going: Vec<&Arc<Change>> = known.values().filter(|each| !each.is_over()).collect();
        let of_one = going.iter().filter(|each| each.identity == change.identity);
        if going.len() >= AT_ONCE || of_one.count() >= AT_ONCE_OF_ONE {
            return Err(Problem::unavailable("Too many changes go on at once."));
        }
        while known.len() >= REMEMBERED {
            let ended = known.iter().find(|(_, each)| each.is_over());
            let Some(number) = ended.map(|(number, _)| *number) else {
                break;
            };
            known.remove(&number);
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        known.insert(number, change);
        Ok(number)
    }

    pub fn find(&self, access: &Access, number: u64) -> Option<Arc<Change>> {
        let known = self.lock();
        let change = known.get(&number)?;
        (change.identity == *access.identity()).then(|| Arc::clone(change))
    }

    /// The newest first.
    pub fn of(&self, access: &Access) -> Vec<(u64, Arc<Change>)> {
        let known = self.lock();
        let of_viewer = known
            .iter()
            .rev()
            .filter(|(_, change)| change.identity == *access.identity());
        of_viewer
            .map(|(number, change)| (*number, Arc::clone(change)))
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Change>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The statement with its arguments.
struct Work {
    access: Access,
    sql: &'static str,
    filters: [Value; 7],
    older: i64,
    began: Instant,
}

impl Work {
    fn of(change: &Change, access: &Access) -> Result<Self, Problem> {
        let filter = &change.filter;
        if !filter.payload.is_empty() {
            return Err(Problem::bad_request(
                "Jobs that are chosen by their payload are changed one by one.",
            ));
        }
        Ok(Self {
            access: access.with_statement_timeout(STATEMENT),
            sql: change.deed.sql(),
            filters: [
                Filter::text(&filter.queue),
                Filter::text(&filter.kind),
                Filter::text(&filter.tenant),
                Filter::text(&filter.account),
                Filter::text(&filter.session),
                Filter::text(&filter.state),
                Value::from(filter.parent()?),
            ],
            older: filter.older()?.unwrap_or_default(),
            began: Instant::now(),
        })
    }

    /// What comes to match after the change has begun is left alone, or a job that always fails would be retried for ever.
    async fn chunk(&self, most: i32) -> Result<i64, Problem> {
        let elapsed = i64::try_from(self.began.elapsed().as_millis()).unwrap_or(i64::MAX);
        let mut arguments = self.filters.to_vec();
        arguments.extend([
            Value::from(self.older),
            Value::from(most),
            Value::from(elapsed),
        ]);
        let rows = readings::ask(&self.access, self.sql, &arguments).await?;
        first(&rows)
    }
}

fn first<T: DeserializeOwned>(rows: &[String]) -> Result<T, Problem> {
    let text = rows.first().ok_or_else(Problem::of_another_version)?;
    serde_json::from_str(text).map_err(|_| Problem::of_another_version())
}

async fn go_on(changes: Arc<Changes>, change: Arc<Change>, work: Work) {
    let mut size = FIRST_CHUNK;
    let mut short = 0;
    let end = loop {
        let turn = changes.turns.acquire().await;
        if *changes.ends.borrow() != Asked::Never || change.is_stopped.load(Ordering::Relaxed) {
            break End::Stopped;
        }
        let began = Instant::now();
        let answer = work.chunk(size).await;
        let took = began.elapsed();
        drop(turn);
        match answer {
            Ok(0) => break End::Done,
            Ok(jobs) => {
                change.lock().jobs += jobs;
                short = if jobs < i64::from(size) { short + 1 } else { 0 };
                if short == SHORT {
                    break End::Done;
                }
            }
            Err(problem) if has_timed_out(&problem) && size > 1 => {
                size = (size / 8).max(1);
            }
            Err(problem) => break End::Failed(problem),
        }
        size = resized(size, took);
        // As long as it works, it leaves the server to others.
        tokio::time::sleep(took).await;
    };
    change.lock().end = Some(end);
    changes.readings.forget();
}

fn resized(size: i32, took: Duration) -> i32 {
    match took {
        took if took < QUICK => (size * 2).min(LARGEST_CHUNK),
        took if took > SLOW => (size / 2).max(FIRST_CHUNK).min(size),
        _ => size,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_fit_the_server() {
        assert_eq!(resized(200, Duration::from_millis(10)), 400);
        assert_eq!(resized(2_000, Duration::from_millis(10)), 2_000);
        assert_eq!(resized(200, Duration::from_secs(1)), 200);
        assert_eq!(resized(2_000, Duration::from_secs(3)), 1_000);
        // What takes long is to find them.
        for size in [200, 25, 1] {
            assert_eq!(resized(size, Duration::from_secs(20)), size);
        }
    }
}
