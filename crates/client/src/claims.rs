//! Claims: as many jobs as there is room for, and sleep in the server where there are none.

use crate::backoff::Backoff;
use crate::connector::Session;
use crate::done::Done;
use crate::error::{Error, Remedy, Result, described, is_refused_by_isolation, remedy};
use crate::held::{HeldRuns, RunId};
use crate::link::{LOST, Link, READ_ONLY};
use crate::run::Claimed;
use crate::settings::Settings;
use crate::shutdown::Shutdown;
use crate::statement::{Statement, Value};
use futures_util::poll;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::Row;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;

/// A third of what such a call costs would be its plan, if its arguments were named: it is made anew for each call.
static CLAIM: Statement = Statement {
    text: "SELECT *, clock_timestamp() AS now
             FROM turnstile.claim($1, $2, $3, make_interval(0, 0, 0, 0, 0, 0, $4), $5, NULL)",
    types: &[
        Type::TEXT_ARRAY,
        Type::INT4,
        Type::TEXT,
        Type::FLOAT8,
        Type::BOOL,
    ],
};
/// Row locks are waited for no longer than `lock_timeout`, as in `send`. An argument sets it, which takes less to plan than WITH.
static COMPLETE_AND_CLAIM: Statement = Statement {
    text: "SELECT *, clock_timestamp() AS now
             FROM turnstile.complete_and_claim($6, $7, $1,
                  CASE WHEN set_config('lock_timeout', '2s', true) <> '' THEN $2 END,
                  $3, make_interval(0, 0, 0, 0, 0, 0, $4), $5, NULL)",
    types: &[
        Type::TEXT_ARRAY,
        Type::INT4,
        Type::TEXT,
        Type::FLOAT8,
        Type::BOOL,
        Type::INT8_ARRAY,
        Type::INT4_ARRAY,
    ],
};
/// Unlike a claim that waits it holds no snapshot while it sleeps, which would keep vacuum from its work.
static SLEEP: Statement = Statement {
    text: "CALL turnstile.wait_for_job($1, make_interval(secs => $2))",
    types: &[Type::TEXT_ARRAY, Type::FLOAT8],
};

/// A claim that is under way when the worker has to stop gets so long to say what it has claimed.
const LAST_ANSWER: Duration = Duration::from_secs(5);
/// So long it keeps its only connection. Workers that all have one, and wait for another, would wait for ever.
const ALONE: Duration = Duration::from_secs(5);
/// A sleeper may be woken for a job that another worker gets. So often in a row is no chance any more.
const VAIN_WAKE_UPS: u32 = 3;
const AFTER_VAIN_WAKE_UPS: Duration = Duration::from_millis(100);

const PATIENCE: u32 = 4;
const LONGEST_PATIENCE: Duration = Duration::from_millis(5);

pub(crate) struct Claims {
    link: Link,
    /// By which runs say that they are alive, and how they have ended.
    runs: Arc<Link>,
    settings: Arc<Settings>,
    held: Arc<HeldRuns>,
    done: Arc<Done>,
    shutdown: Shutdown,
    failures: Backoff,
    in_vain: u32,
    /// How long the last claim took that found jobs.
    usual_time: Duration,
    /// The server has refused a claim under the isolation level that sessions have by default.
    has_own_isolation: AtomicBool,
}

impl Claims {
    pub(crate) fn new(
        link: Link,
        runs: Arc<Link>,
        settings: Arc<Settings>,
        held: Arc<HeldRuns>,
        done: Arc<Done>,
        shutdown: Shutdown,
    ) -> Self {
        Self {
            link,
            runs,
            settings,
            held,
            done,
            shutdown,
            failures: Backoff::default(),
            in_vain: 0,
            usual_time: Duration::ZERO,
            has_own_isolation: AtomicBool::new(false),
        }
    }

    /// The connection that runs may be bound to.
    pub(crate) fn into_link(self) -> Link {
        self.link
    }

    /// Up to so many jobs; none where it has slept, or where the worker drains.
    pub(crate) async fn next(&mut self, room: usize) -> Result<Vec<Claimed>> {
        let shutdown = self.shutdown.clone();
        let client = tokio::select! {
            client = self.connected() => client?,
            () = shutdown.drains() => return Ok(Vec::new()),
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

    /// Who claims without the other connection could not say that its runs are alive, and so they would run again for ever.
    async fn connected(&mut self) -> Result<Arc<Session>> {
        let runs = Arc::clone(&self.runs);
        loop {
            let client = self.link.client().await?;
            let mut other = std::pin::pin!(runs.client());
            if let Poll::Ready(other) = poll!(&mut other) {
                return other.map(|_| client);
            }
            // No claim takes ends along meanwhile.
            self.done.let_go();
            if let Ok(other) = timeout(ALONE, other).await {
                return other.map(|_| client);
            }
            drop(client);
            if self.held.len() == 0 {
                self.link.hang_up().await;
                sleep(self.failures.next_pause()).await;
            }
        }
    }

    /// How long it is worth waiting for more room: a part of the time that a claim takes.
    pub(crate) fn patience(&self) -> Duration {
        (self.usual_time / PATIENCE).min(LONGEST_PATIENCE)
    }

    async fn claim(&mut self, client: &Session, room: usize) -> Result<Vec<Claimed>> {
        let done = self.done.take();
        let began = Instant::now();
        let rows = match self.call(client, room, &done).await {
            Err(error) => {
                self.done.send_again(done);
                self.done.let_go();
                if remedy(&error, client) == Remedy::Reconnect {
                    return Err(error.into());
                }
                // It may have been the fault of those that have ended.
                if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) {
                    self.link
                        .tell("complete_and_claim is refused", &described(&error));
                }
                self.call(client, room, &[]).await?
            }
            Ok(rows) => {
                for &run in &done {
                    self.held.remove(run);
                }
                rows
            }
        };
        let jobs = rows
            .iter()
            .map(|row| Claimed::from_row(row, began))
            .collect::<Result<Vec<_>>>()?;
        if !jobs.is_empty() {
            self.usual_time = began.elapsed();
        }
        Ok(jobs)
    }

    /// It is waited for also when the worker has to stop: what it has claimed has to be given back.
    async fn call(
        &self,
        client: &Session,
        room: usize,
        done: &[RunId],
    ) -> std::result::Result<Vec<Row>, tokio_postgres::Error> {
        let settings = &self.settings;
        let room = i32::try_from(room).unwrap_or(i32::MAX);
        let lease = settings.lease.as_ref().map(Duration::as_secs_f64);
        let (ids, attempts): (Vec<_>, Vec<_>) = done.iter().copied().unzip();
        let values: [Value<'_>; 7] = [
            &settings.queues,
            &room,
            &settings.name,
            &lease,
            &settings.is_bound,
            &ids,
            &attempts,
        ];
        let (statement, values) = match done.is_empty() {
            true => (&CLAIM, values.get(..5).unwrap_or_default()),
            false => (&COMPLETE_AND_CLAIM, &values[..]),
        };
        let mut answer = std::pin::pin!(self.rows(client, statement, values));
        tokio::select! {
            rows = &mut answer => rows,
            () = self.shutdown.stops() => match timeout(LAST_ANSWER, &mut answer).await {
                Ok(rows) => rows,
                Err(_) => {
                    self.link.cancel(client).await;
                    answer.await
                }
            },
        }
    }

    /// What works everywhere costs two more messages, and only those pay who need it.
    async fn rows(
        &self,
        client: &Session,
        statement: &Statement,
        values: &[Value<'_>],
    ) -> std::result::Result<Vec<Row>, tokio_postgres::Error> {
        if !self.has_own_isolation.load(Ordering::Relaxed) {
            match statement.rows(&**client, values).await {
                Err(error) if is_refused_by_isolation(&error) => {
                    tracing::info!("claims are READ COMMITTED from now on, unlike the default");
                    self.has_own_isolation.store(true, Ordering::Relaxed);
                }
                answer => return answer,
            }
        }
        statement.rows_as_committed(&**client, values).await
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
        self.done.let_go();
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
        let remedy = remedy(&error, client);
        if remedy == Remedy::Never {
            return Err(error.into());
        }
        let reason = described(&error);
        let pause = async {
            match remedy {
                Remedy::Reconnect => {
                    if self.settings.is_bound {
                        self.held.beat_now();
                    }
                    self.link.give_up(client, LOST, &reason).await;
                }
                Remedy::Elsewhere => self.link.give_up(client, READ_ONLY, &reason).await,
                Remedy::Again | Remedy::Never => {
                    self.link.tell("a claim has failed", &reason);
                    sleep(self.failures.next_pause()).await;
                }
            }
        };
        tokio::select! {
            () = pause => {}
            () = self.shutdown.drains() => {}
        }
        Ok(())
    }
}
