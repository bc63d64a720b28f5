//! What the server has said, kept for a second: all viewers of a page with the same role cost it one statement a second.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio_postgres::Row;

use super::identity::{Access, Identity, TIMED_OUT};
use super::value::Value;
use crate::listener::Problem;
use crate::query::Parameter;

const FRESH: Duration = Duration::from_secs(1);
/// A statement that has not ended within the time given to it is not tried again so soon: a page has another way.
const GIVEN_UP: Duration = Duration::from_secs(10);
/// What nobody has asked for so long is forgotten: no statement takes longer and is fresh for longer.
const KEPT: Duration = Duration::from_secs(4);
/// Past so many bytes all is forgotten that nobody waits for, or who asks for much else all the time would fill the memory.
const MOST_BYTES: usize = 32 * 1024 * 1024;

/// One JSON text a row.
pub type Rows = Arc<Vec<String>>;
type Outcome = Result<Rows, Problem>;

#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    identity: Identity,
    sql: &'static str,
    arguments: Vec<Value>,
    limit: Option<Duration>,
}

/// Who comes while another reads waits for what that gets.
#[derive(Default)]
struct Slot {
    last: tokio::sync::Mutex<Option<(Instant, Outcome)>>,
}

#[derive(Default)]
pub struct Readings {
    slots: Mutex<Slots>,
}

#[derive(Default)]
struct Slots {
    by_key: HashMap<Key, (Instant, Arc<Slot>)>,
    swept: Option<Instant>,
    /// Of keys and of what was said, since all was forgotten: at most so many are kept.
    bytes: usize,
}

impl Readings {
    /// `limit`: how long the statement may take, where that is less than others may.
    pub async fn rows(
        &self,
        access: &Access,
        sql: &'static str,
        arguments: &[Value],
        limit: Option<Duration>,
    ) -> Outcome {
        let slot = self.slot(Key {
            identity: access.identity().clone(),
            sql,
            arguments: arguments.to_vec(),
            limit,
        });
        let mut last = slot.last.lock().await;
        if let Some((at, outcome)) = last.as_ref()
            && at.elapsed() < fresh_for(outcome, limit)
        {
            return outcome.clone();
        }
        let outcome = match limit {
            None => ask(access, sql, arguments).await,
            Some(limit) => ask(&access.with_statement_timeout(limit), sql, arguments).await,
        };
        *last = Some((Instant::now(), outcome.clone()));
        if let Ok(rows) = &outcome {
            self.lock().bytes += rows.iter().map(String::len).sum::<usize>();
        }
        outcome
    }

    /// After a change, so that all see it at once.
    pub fn forget(&self) {
        self.lock().by_key.clear();
    }

    fn slot(&self, key: Key) -> Arc<Slot> {
        let mut slots = self.lock();
        let now = Instant::now();
        slots.sweep(now);
        slots.bytes += key.bytes();
        let (asked, slot) = slots
            .by_key
            .entry(key)
            .or_insert_with(|| (now, Arc::default()));
        *asked = now;
        Arc::clone(slot)
    }

    fn lock(&self) -> MutexGuard<'_, Slots> {
        // A panic leaves a whole map.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slots {
    fn sweep(&mut self, now: Instant) {
        let is_much = self.bytes > MOST_BYTES;
        if !is_much && self.swept.is_some_and(|at| now.duration_since(at) < FRESH) {
            return;
        }
        self.swept = Some(now);
        self.by_key.retain(|_, (asked, slot)| {
            let is_young = !is_much && now.duration_since(*asked) < KEPT;
            is_young || Arc::strong_count(slot) > 1
        });
        if is_much || self.by_key.is_empty() {
            self.bytes = 0;
        }
    }
}

impl Key {
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.arguments.iter().map(Value::bytes).sum::<usize>()
    }
}

fn fresh_for(outcome: &Outcome, limit: Option<Duration>) -> Duration {
    match outcome {
        Err(problem) if limit.is_some() && has_timed_out(problem) => GIVEN_UP,
        _ => FRESH,
    }
}

pub fn has_timed_out(problem: &Problem) -> bool {
    problem.code() == Some(TIMED_OUT)
}

/// Asks the server, whatever was said a moment ago.
pub async fn ask(access: &Access, sql: &'static str, arguments: &[Value]) -> Outcome {
    let parameters: Vec<Parameter<'_>> = arguments.iter().map(Value::parameter).collect();
    let rows = access.rows(sql, &parameters).await;
    let rows = rows.map_err(|failure| access.problem(failure))?;
    let texts = rows.iter().map(text).collect::<Result<Vec<_>, _>>();
    texts
        .map(Arc::new)
        .map_err(|_| Problem::of_another_version())
}

fn text(row: &Row) -> Result<String, tokio_postgres::Error> {
    row.try_get(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Key {
        Key {
            identity: Identity::Own,
            sql: "",
            arguments: vec![Value::from(text)],
            limit: None,
        }
    }

    #[test]
    fn what_nobody_asks_for_is_forgotten() {
        let readings = Readings::default();
        drop(readings.slot(key("old")));
        let held = readings.slot(key("held"));
        let later = Instant::now() + KEPT;
        readings.lock().sweep(later);
        assert_eq!(readings.lock().by_key.len(), 1);
        drop(held);
    }

    #[test]
    fn many_other_questions_fill_no_memory() {
        let readings = Readings::default();
        let held = readings.slot(key("held"));
        let long = "x".repeat(64 * 1024);
        let most = MOST_BYTES / long.len() + 2;
        for number in 0..most * 3 {
            readings.slot(key(&format!("{number} {long}")));
            assert!(readings.lock().by_key.len() <= most);
        }
        assert!(readings.lock().by_key.contains_key(&key("held")));
        drop(held);
    }
}
