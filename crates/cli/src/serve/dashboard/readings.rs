//! What the server has said, kept for a second: all viewers of a page with the same role cost it one statement a second.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio_postgres::Row;

use super::identity::{Access, Identity};
use super::value::Value;
use crate::listener::Problem;
use crate::query::Parameter;

const FRESH: Duration = Duration::from_secs(1);
/// What nobody has asked for so long is forgotten.
const KEPT: Duration = Duration::from_secs(10);

/// One JSON text a row.
pub type Rows = Arc<Vec<String>>;
type Outcome = Result<Rows, Problem>;

#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    identity: Identity,
    sql: &'static str,
    arguments: Vec<Value>,
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
}

impl Readings {
    pub async fn rows(&self, access: &Access, sql: &'static str, arguments: &[Value]) -> Outcome {
        let slot = self.slot(Key {
            identity: access.identity().clone(),
            sql,
            arguments: arguments.to_vec(),
        });
        let mut last = slot.last.lock().await;
        if let Some((at, outcome)) = last.as_ref()
            && at.elapsed() < FRESH
        {
            return outcome.clone();
        }
        let outcome = ask(access, sql, arguments).await;
        *last = Some((Instant::now(), outcome.clone()));
        outcome
    }

    /// After a change, so that who made it sees it at once.
    pub fn forget(&self, identity: &Identity) {
        self.lock()
            .by_key
            .retain(|key, _| key.identity != *identity);
    }

    fn slot(&self, key: Key) -> Arc<Slot> {
        let mut slots = self.lock();
        let now = Instant::now();
        slots.sweep(now);
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
        if self.swept.is_some_and(|at| now.duration_since(at) < FRESH) {
            return;
        }
        self.swept = Some(now);
        self.by_key.retain(|_, (asked, slot)| {
            now.duration_since(*asked) < KEPT || Arc::strong_count(slot) > 1
        });
    }
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
