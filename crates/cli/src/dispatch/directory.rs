//! Which endpoint a kind has, by the server's rows; and what is told to the server of endpoints.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::Mutex as AsyncMutex;
use tokio_postgres::types::Type;
use turnstile_client::{Failure, Job};

use super::endpoint::{Endpoint, Row};
use super::verdict::Report;
use crate::connection::{Pool, Settings};
use crate::error::Error;
use crate::query::Parameter;

/// A changed row is in force after so long.
const FRESH: Duration = Duration::from_secs(1);
/// Of each pool. They are opened as they are needed.
const CONNECTIONS: usize = 4;
/// The most kinds that are remembered.
const MOST_KINDS: usize = 10_000;

const ENDPOINT_OF: &str = "SELECT pg_catalog.to_jsonb(endpoint)
        || pg_catalog.jsonb_build_object('timeout', pg_catalog.date_part('epoch', endpoint.timeout))
    FROM turnstile.endpoint_of($1) AS endpoint";
/// Who has locked the row holds up no answers.
const REPORT: &str =
    "WITH patience AS MATERIALIZED (SELECT pg_catalog.set_config('lock_timeout', '200ms', true))
    SELECT turnstile.report_endpoint($1, $2, $3, pg_catalog.make_interval(secs => $4)) FROM patience";

/// None: the kind has no endpoint. The error is one of its row.
pub type Found = Option<Result<Arc<Endpoint>, Failure>>;

/// One asks at a time.
#[derive(Default)]
struct Entry(AsyncMutex<Option<(Instant, Found)>>);

pub struct Directory {
    questions: Pool,
    /// They may wait for locks, and questions must not wait for them.
    reports: Pool,
    kinds: Mutex<HashMap<String, Arc<Entry>>>,
}

impl Directory {
    pub fn new(settings: &Settings) -> Result<Self, Error> {
        Ok(Self {
            questions: Pool::new(settings.clone(), CONNECTIONS)?,
            reports: Pool::new(settings.clone(), CONNECTIONS)?,
            kinds: Mutex::default(),
        })
    }

    /// Fails where the role may not ask, or the server is older than endpoints. One that is out of reach is waited for.
    pub async fn check(&self) -> Result<(), Error> {
        match self.ask("*").await {
            Ok(_) | Err(Error::Lost(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    pub async fn endpoint_of(&self, kind: &str) -> Result<Found, Error> {
        let entry = self.entry(kind);
        let mut known = entry.0.lock().await;
        if let Some((since, found)) = &*known
            && since.elapsed() < FRESH
        {
            return Ok(found.clone());
        }
        let asked = Instant::now();
        let row = self.ask(kind).await?;
        let found = match (row, known.take()) {
            (None, _) => None,
            (Some(row), Some((_, Some(Ok(before))))) if before.row == row => Some(Ok(before)),
            (Some(row), _) => Some(Endpoint::read(row).map(Arc::new)),
        };
        *known = Some((asked, found.clone()));
        Ok(found)
    }

    /// What a run has met. The next job of its kind asks for the endpoint anew.
    pub async fn report(&self, job: &Job, report: Report) -> Result<(), Error> {
        let (answer, pause) = report.words();
        let seconds = pause.map(|pause| pause.as_secs_f64());
        let values: [Parameter<'_>; 4] = [
            (&job.id, Type::INT8),
            (&job.attempt, Type::INT4),
            (&answer, Type::TEXT),
            (&seconds, Type::FLOAT8),
        ];
        self.reports.rows(None, REPORT, &values).await?;
        self.kinds().remove(&job.kind);
        Ok(())
    }

    async fn ask(&self, kind: &str) -> Result<Option<Row>, Error> {
        let rows = self
            .questions
            .rows(None, ENDPOINT_OF, &[(&kind, Type::TEXT)])
            .await?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let endpoint: Value = row.try_get(0)?;
        Ok(Some(serde_json::from_value(endpoint)?))
    }

    fn entry(&self, kind: &str) -> Arc<Entry> {
        let mut kinds = self.kinds();
        if let Some(entry) = kinds.get(kind) {
            return Arc::clone(entry);
        }
        if kinds.len() >= MOST_KINDS {
            kinds.clear();
        }
        Arc::clone(kinds.entry(kind.to_owned()).or_default())
    }

    fn kinds(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<Entry>>> {
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
