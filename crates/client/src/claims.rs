//! Claims: as many jobs as there is room for, and sleep in the server where there are none.

use crate::backoff::Backoff;
use crate::connector::Session;
use crate::error::{Error, Remedy, Result, remedy};
use crate::held::HeldRuns;
use crate::link::Link;
use crate::run::Claimed;
use crate::shutdown::Shutdown;
use crate::statement::{Statement, Value};
use crate::worker::Settings;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;

static CLAIM: Statement = Statement {
    text: "SELECT *, extract(epoch FROM lease_expires_at - clock_timestamp())::float8 AS lease
             FROM turnstile.claim($1, $2, worker => $3, lease => make_interval(secs => $4))",
    types: &[Type::TEXT_ARRAY, Type::INT4, Type::TEXT, Type::FLOAT8],
};
/// Unlike a claim that waits it holds no snapshot while it sleeps, which would keep vacuum from its work.
static SLEEP: Statement = Statement {
    text: "CALL turnstile.wait_for_job($1, make_interval(secs => $2))",
    types: &[Type::TEXT_ARRAY, Type::FLOAT8],
};

/// A claim that is under way when the worker has to stop gets so long to say what it has claimed.
const LAST_ANSWER: Duration = Duration::from_secs(5);
/// A sleeper may be woken for a job that another worker gets. So often in a row is no chance any more.
const VAIN_WAKE_UPS: u32 = 3;
const AFTER_VAIN_WAKE_UPS: Duration = Duration::from_millis(100);

pub(crate) struct Claims {
    link: Link,
    settings: Arc<Settings>,
    held: Arc<HeldRuns>,
    shutdown: Shutdown,
    failures: Backoff,
    in_vain: u32,
}

impl Claims {
    pub(crate) fn new(
        link: Link,
        settings: Arc<Settings>,
        held: Arc<HeldRuns>,
        shutdown: Shutdown,
    ) -> Self {
        Self {
            link,
            settings,
            held,
            shutdown,
            failures: Backoff::default(),
            in_vain: 0,
        }
    }

    /// Up to so many jobs; none where it has slept, or where the worker drains.
    pub(crate) async fn next(&mut self, room: usize) -> Result<Vec<Claimed>> {
        let client = tokio::select! {
            client = self.link.client() => client?,
            () = self.shutdown.drains() => return Ok(Vec::new()),
        };
        let claimed = self.claim(&client, room).await;
        let result = match claimed {
            Ok(jobs) if jobs.is_empty() && !self.shutdown.is_draining() => {
                self.rest().await;
                self.sleep(&client).await.map(|()| jobs)
            }
            Ok(jobs) => {
                self.in_vain = 0;
                Ok(jobs)
            }
            Err(error) => Err(error),
        };
        match result {
            Err(Error::Database(error)) => self.survive(&client, error).await.map(|()| Vec::new()),
            result => {
                self.failures.reset();
                self.link.works();
                result
            }
        }
    }

    /// It is waited for also when the worker has to stop: what it has claimed has to be given back.
    async fn claim(&self, client: &Session, room: usize) -> Result<Vec<Claimed>> {
        let settings = &self.settings;
        let room = i32::try_from(room).unwrap_or(i32::MAX);
        let lease = settings.lease.as_ref().map(Duration::as_secs_f64);
        let values: [Value<'_>; 4] = [&settings.queues, &room, &settings.name, &lease];
        let mut answer = std::pin::pin!(CLAIM.rows(&**client, &values));
        let rows = tokio::select! {
            rows = &mut answer => rows,
            () = self.shutdown.stops() => match timeout(LAST_ANSWER, &mut answer).await {
                Ok(rows) => rows,
                Err(_) => {
                    self.link.cancel(client).await;
                    answer.await
                }
            },
        }?;
        rows.iter().map(Claimed::from_row).collect()
    }

    /// Who is told to drain meanwhile hangs up, and the server sees that at once.
    async fn sleep(&mut self, client: &Session) -> Result<()> {
        let longest = self.settings.wait.as_secs_f64();
        let values: [Value<'_>; 2] = [&self.settings.queues, &longest];
        let began = Instant::now();
        let slept = tokio::select! {
            slept = SLEEP.rows(&**client, &values) => slept,
            () = self.shutdown.drains() => return Ok(()),
        };
        match began.elapsed() < AFTER_VAIN_WAKE_UPS {
            true => self.in_vain = self.in_vain.saturating_add(1),
            false => self.in_vain = 0,
        }
        match slept {
            // A statement_timeout has ended the sleep: that is a wake-up, too.
            Err(error) if error.code() == Some(&SqlState::QUERY_CANCELED) => Ok(()),
            slept => Ok(slept.map(drop)?),
        }
    }

    /// Before it sleeps. Ends go first: behind a pooler the sleeper may have the last connection to the server.
    async fn rest(&self) {
        let rest = async {
            self.held.all_ends_known().await;
            if self.in_vain > VAIN_WAKE_UPS {
                sleep(AFTER_VAIN_WAKE_UPS).await;
            }
        };
        tokio::select! {
            () = rest => {}
            () = self.shutdown.drains() => {}
        }
    }

    async fn survive(&mut self, client: &Arc<Session>, error: tokio_postgres::Error) -> Result<()> {
        let remedy = remedy(&error);
        if remedy == Remedy::Never {
            return Err(error.into());
        }
        tracing::debug!(%error, "a claim has failed");
        let pause = async {
            match remedy {
                Remedy::Reconnect => self.link.give_up(client).await,
                Remedy::Again | Remedy::Never => sleep(self.failures.next_pause()).await,
            }
        };
        tokio::select! {
            () = pause => {}
            () = self.shutdown.drains() => {}
        }
        Ok(())
    }
}
