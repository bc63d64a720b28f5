//! A run: one attempt at a job, as the handler gets it.

use crate::error::Result;
use crate::held::{RunId, Stop};
use crate::link::Link;
use crate::outcome::StopReason;
use crate::statement::Statement;
use crate::time::rfc3339;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::time::Instant;
use tokio_postgres::Row;
use tokio_postgres::types::{Json, Type};
use tokio_util::sync::CancellationToken;

static PROGRESS: Statement = Statement {
    text: "SELECT turnstile.progress($1, $2, $3::float8::numeric, $4::float8::numeric, $5)",
    types: &[
        Type::INT8,
        Type::INT4,
        Type::FLOAT8,
        Type::FLOAT8,
        Type::TEXT,
    ],
};

/// What the server says of a job that was claimed.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Job {
    /// With `attempt`, the run.
    pub id: i64,
    /// Claims of the job so far.
    pub attempt: i32,
    /// The number of the last attempt, with uncounted attempts added.
    pub max_attempts: i32,
    /// How many attempts may follow this one. 0: it is the last.
    pub attempts_left: i32,
    /// The queue that the job was claimed from.
    pub queue: String,
    /// What sort of job it is.
    pub kind: String,
    /// What the producer passed.
    pub payload: Box<RawValue>,
    /// Lower runs first.
    pub priority: i32,
    /// The tenant, if there is one.
    pub tenant: Option<String>,
    /// The account, if there is one.
    pub account: Option<String>,
    /// The session, if there is one.
    pub session: Option<String>,
    /// When the job was enqueued.
    #[serde(serialize_with = "as_rfc3339")]
    pub created_at: SystemTime,
    /// What the producer passed as metadata.
    pub metadata: Option<Box<RawValue>>,
    /// How the children of the job have ended, if it had any.
    pub children: Option<Children>,
}

/// How many children of a job have ended, and how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Children {
    /// Those that are done.
    pub completed: i64,
    /// Those that failed for good.
    pub discarded: i64,
    /// Those that were cancelled.
    pub cancelled: i64,
}

/// A job that was claimed, and its lease from now on.
pub(crate) struct Claimed {
    pub job: Job,
    pub lease: Duration,
    /// When the server was asked for it, so rather earlier than the claim.
    pub asked: Instant,
}

impl Claimed {
    /// Reads a row of the statement `CLAIM`.
    pub(crate) fn from_row(row: &Row, asked: Instant) -> Result<Self> {
        let (attempt, max_attempts) = (row.try_get("attempt")?, row.try_get("max_attempts")?);
        let job = Job {
            id: row.try_get("id")?,
            attempt,
            max_attempts,
            // A database that is still at 0.1.0 does not say.
            attempts_left: row
                .try_get("attempts_left")
                .unwrap_or(i32::max(max_attempts - attempt, 0)),
            queue: row.try_get("queue")?,
            kind: row.try_get("kind")?,
            payload: row.try_get::<_, Json<Box<RawValue>>>("payload")?.0,
            priority: row.try_get("priority")?,
            tenant: row.try_get("tenant")?,
            account: row.try_get("account")?,
            session: row.try_get("session")?,
            created_at: row.try_get("created_at")?,
            metadata: row
                .try_get::<_, Option<Json<Box<RawValue>>>>("metadata")?
                .map(|json| json.0),
            children: row
                .try_get::<_, Option<Json<Children>>>("children")?
                .map(|json| json.0),
        };
        let ends: SystemTime = row.try_get("lease_expires_at")?;
        let lease = ends.duration_since(row.try_get("now")?).unwrap_or_default();
        Ok(Self { job, lease, asked })
    }
}

fn as_rfc3339<S: Serializer>(
    time: &SystemTime,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_str(&rfc3339(*time))
}

impl Job {
    /// The payload as the handler wants it.
    ///
    /// ```
    /// # use turnstile_client::{Outcome, Run};
    /// #[derive(serde::Deserialize)]
    /// struct Mail {
    ///     to: String,
    /// }
    /// async fn handle(run: Run) -> Result<(), Box<dyn std::error::Error>> {
    ///     let mail: Mail = run.job.payload()?;
    ///     println!("to {}", mail.to);
    ///     Ok(())
    /// }
    /// ```
    pub fn payload<'a, T: Deserialize<'a>>(&'a self) -> Result<T> {
        Ok(serde_json::from_str(self.payload.get())?)
    }

    /// Whether no other attempt follows if this one fails.
    pub fn is_last_attempt(&self) -> bool {
        self.attempts_left == 0
    }

    pub(crate) fn run(&self) -> RunId {
        (self.id, self.attempt)
    }
}

/// One attempt at a job, until the handler has returned.
pub struct Run {
    /// What is to be done.
    pub job: Job,
    pub(crate) lease: Duration,
    pub(crate) stop: Stop,
    pub(crate) link: Arc<Link>,
}

impl Run {
    /// For a handler that has to go on with it.
    pub(crate) fn again(&self) -> Self {
        Self {
            job: self.job.clone(),
            lease: self.lease,
            stop: self.stop.clone(),
            link: Arc::clone(&self.link),
        }
    }

    /// How long the run counts as alive after its claim, or after a heartbeat, which the worker sends by itself.
    pub fn lease(&self) -> Duration {
        self.lease
    }

    /// Cancelled when the run should stop. Handlers that take long look at it, and return soon.
    pub fn token(&self) -> &CancellationToken {
        self.stop.token()
    }

    /// Waits until the run should stop, and says why.
    pub async fn stopped(&self) -> StopReason {
        self.stop.token().cancelled().await;
        self.stop.reason().unwrap_or(StopReason::Shutdown)
    }

    /// Why the run should stop, if it should.
    pub fn stop_reason(&self) -> Option<StopReason> {
        self.stop.reason()
    }

    /// Tells the server how far the run is; `done` and `total` are in any unit. Also learns from it whether the job was cancelled
    /// meanwhile.
    pub async fn progress(
        &self,
        done: f64,
        total: Option<f64>,
        message: Option<&str>,
    ) -> Result<()> {
        let client = self.link.client().await?;
        let (id, attempt) = self.job.run();
        let row = PROGRESS
            .row(&**client, &[&id, &attempt, &done, &total, &message])
            .await?;
        if let Some(row) = row
            && !row.try_get::<_, bool>(0)?
        {
            self.stop.ask(StopReason::Cancelled);
        }
        Ok(())
    }
}
