//! Producing: a job is added by the caller's own connection, and so in the caller's own transaction.

use crate::error::{Error, Result};
use crate::statement::Statement;
use serde::{Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};
use std::time::{Duration, SystemTime};
use tokio_postgres::GenericClient;
use tokio_postgres::types::{Json, Type};

static ENQUEUE: Statement = Statement {
    text: "SELECT turnstile.enqueue(
        kind => $1, payload => $2, queue => $3, tenant => $4, account => $5, session => $6, concurrency_key => $7,
        priority => $8, run_at => $9, max_attempts => $10, unique_key => $11,
        unique_mode => $12, unique_for => make_interval(secs => $13), metadata => $14,
        unique_by => $15, parent => $16, after => $17, after_any_end => $18, after_hold => $19, unique_states => $20)",
    types: &[
        Type::TEXT,
        Type::JSONB,
        Type::TEXT,
        Type::TEXT,
        Type::TEXT,
        Type::TEXT,
        Type::TEXT,
        Type::INT4,
        Type::TIMESTAMPTZ,
        Type::INT4,
        Type::TEXT,
        Type::TEXT,
        Type::FLOAT8,
        Type::JSONB,
        Type::TEXT_ARRAY,
        Type::INT8,
        Type::INT8_ARRAY,
        Type::BOOL,
        Type::BOOL,
        Type::TEXT_ARRAY,
    ],
};

static ENQUEUE_MANY: Statement = Statement {
    text: "SELECT id, created FROM turnstile.enqueue_many($1) ORDER BY ord",
    types: &[Type::JSONB],
};

/// A job to add. What is not set is left to the server, as in `turnstile.enqueue`.
#[derive(Debug, Clone, Serialize)]
#[must_use = "a job is added by enqueue"]
pub struct NewJob {
    kind: String,
    payload: Box<RawValue>,
    #[serde(flatten)]
    options: Options,
}

#[derive(Debug, Clone, Default, Serialize)]
struct Options {
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    account: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    concurrency_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_text")]
    run_at: Option<SystemTime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_attempts: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unique_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unique_mode: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "in_seconds")]
    unique_for: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unique_by: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<Vec<i64>>,
    #[serde(skip_serializing_if = "is_false")]
    after_any_end: bool,
    #[serde(skip_serializing_if = "is_false")]
    after_hold: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    unique_states: Option<Vec<String>>,
}

impl NewJob {
    /// A job of that kind. The payload is anything that serde makes JSON of.
    pub fn new(kind: impl Into<String>, payload: &impl Serialize) -> Result<Self> {
        Ok(Self {
            kind: kind.into(),
            payload: to_raw_value(payload)?,
            options: Options::default(),
        })
    }

    /// Where the job waits, whatever the routes say.
    pub fn queue(mut self, queue: impl Into<String>) -> Self {
        self.options.queue = Some(queue.into());
        self
    }

    /// The customer that the job belongs to.
    pub fn tenant(mut self, tenant: impl Into<String>) -> Self {
        self.options.tenant = Some(tenant.into());
        self
    }

    /// A part of the tenant with limits of its own.
    pub fn account(mut self, account: impl Into<String>) -> Self {
        self.options.account = Some(account.into());
        self
    }

    /// Jobs of one queue, tenant and session run one at a time, in order.
    pub fn session(mut self, session: impl Into<String>) -> Self {
        self.options.session = Some(session.into());
        self
    }

    /// Jobs that share the key share its limits.
    pub fn concurrency_key(mut self, key: impl Into<String>) -> Self {
        self.options.concurrency_key = Some(key.into());
        self
    }

    /// Lower runs first.
    pub fn priority(mut self, priority: i32) -> Self {
        self.options.priority = Some(priority);
        self
    }

    /// Not before this time.
    pub fn run_at(mut self, time: SystemTime) -> Self {
        self.options.run_at = Some(time);
        self
    }

    /// How many attempts may fail before the job is discarded.
    pub fn max_attempts(mut self, attempts: i32) -> Self {
        self.options.max_attempts = Some(attempts);
        self
    }

    /// While another job of the tenant holds the key, no job is added.
    pub fn unique_key(mut self, key: impl Into<String>) -> Self {
        self.options.unique_key = Some(key.into());
        self
    }

    /// Makes the unique key from these columns.
    pub fn unique_by<C: Into<String>>(mut self, columns: impl IntoIterator<Item = C>) -> Self {
        self.options.unique_by = Some(columns.into_iter().map(Into::into).collect());
        self
    }

    /// How long a job holds its key: `until_executed` unless it is set.
    pub fn unique_mode(mut self, mode: impl Into<String>) -> Self {
        self.options.unique_mode = Some(mode.into());
        self
    }

    /// The states in which a job holds its key, in place of a mode: `available` and others. Finished ones need `unique_for`.
    pub fn unique_states<S: Into<String>>(mut self, states: impl IntoIterator<Item = S>) -> Self {
        self.options.unique_states = Some(states.into_iter().map(Into::into).collect());
        self
    }

    /// Ends the hold so long after the enqueue.
    pub fn unique_for(mut self, time: Duration) -> Self {
        self.options.unique_for = Some(time);
        self
    }

    /// Anything that is to be kept with the job.
    pub fn metadata(mut self, metadata: &impl Serialize) -> Result<Self> {
        self.options.metadata = Some(to_raw_value(metadata)?);
        Ok(self)
    }

    /// The job that waits for this one.
    pub fn parent(mut self, id: i64) -> Self {
        self.options.parent = Some(id);
        self
    }

    /// Jobs that must complete first.
    pub fn after(mut self, ids: impl IntoIterator<Item = i64>) -> Self {
        self.options.after = Some(ids.into_iter().collect());
        self
    }

    /// Any end of those will do.
    pub fn after_any_end(mut self) -> Self {
        self.options.after_any_end = true;
        self
    }

    /// Where one of those ends otherwise than it should, the job stays blocked until that is retried and completes.
    pub fn after_hold(mut self) -> Self {
        self.options.after_hold = true;
        self
    }
}

/// Adds a job and returns its id: that of the job that holds the unique key, if one does.
///
/// Pass a transaction, and the job is there if and when that commits:
///
/// ```no_run
/// # use turnstile_client::{NewJob, Result, enqueue};
/// # async fn order(client: &mut tokio_postgres::Client) -> Result<()> {
/// let transaction = client.transaction().await?;
/// transaction.execute("INSERT INTO orders DEFAULT VALUES", &[]).await?;
/// enqueue(&transaction, &NewJob::new("mail", &"a@example.com")?.queue("mail")).await?;
/// transaction.commit().await?;
/// # Ok(())
/// # }
/// ```
pub async fn enqueue(client: &impl GenericClient, job: &NewJob) -> Result<i64> {
    let options = &job.options;
    let unique_for = options.unique_for.as_ref().map(Duration::as_secs_f64);
    let row = ENQUEUE
        .row(
            client,
            &[
                &job.kind,
                &Json(&job.payload),
                &options.queue,
                &options.tenant,
                &options.account,
                &options.session,
                &options.concurrency_key,
                &options.priority,
                &options.run_at,
                &options.max_attempts,
                &options.unique_key,
                &options.unique_mode,
                &unique_for,
                &options.metadata.as_ref().map(Json),
                &options.unique_by,
                &options.parent,
                &options.after,
                &options.after_any_end,
                &options.after_hold,
                &options.unique_states,
            ],
        )
        .await?
        .ok_or(Error::Setup("turnstile.enqueue has returned no row"))?;
    Ok(row.try_get(0)?)
}

/// A job that `enqueue_many` has added, or found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Added {
    /// The job's id.
    pub id: i64,
    /// Whether it is new: another job may hold its unique key.
    pub is_new: bool,
}

/// Adds the jobs, all or none, and returns what has become of each, in order.
pub async fn enqueue_many(client: &impl GenericClient, jobs: &[NewJob]) -> Result<Vec<Added>> {
    let rows = ENQUEUE_MANY.rows(client, &[&Json(jobs)]).await?;
    let added = |row: &tokio_postgres::Row| {
        Ok(Added {
            id: row.try_get(0)?,
            is_new: row.try_get(1)?,
        })
    };
    rows.iter().map(added).collect()
}

fn as_text<S: Serializer>(
    time: &Option<SystemTime>,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    time.map(crate::time::rfc3339).serialize(serializer)
}

fn in_seconds<S: Serializer>(
    time: &Option<Duration>,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    let text = time.map(|time| format!("{} seconds", time.as_secs_f64()));
    text.serialize(serializer)
}

fn is_false(value: &bool) -> bool {
    !value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_set_is_not_said() {
        let job = NewJob::new("mail", &1).unwrap();
        assert_eq!(
            serde_json::to_string(&job).unwrap(),
            r#"{"kind":"mail","payload":1}"#
        );
    }

    #[test]
    fn states_are_said_as_a_list() {
        let job = NewJob::new("mail", &1).unwrap();
        let job = job.unique_key("a").unique_states(["available", "running"]);
        assert_eq!(
            serde_json::to_string(&job).unwrap(),
            r#"{"kind":"mail","payload":1,"unique_key":"a","unique_states":["available","running"]}"#
        );
    }

    #[test]
    fn times_are_said_as_the_server_reads_them() {
        let job = NewJob::new("mail", &1).unwrap();
        let job = job
            .run_at(SystemTime::UNIX_EPOCH)
            .unique_for(Duration::from_millis(1500));
        assert_eq!(
            serde_json::to_string(&job).unwrap(),
            r#"{"kind":"mail","payload":1,"run_at":"1970-01-01T00:00:00.000000Z","unique_for":"1.5 seconds"}"#
        );
    }
}
