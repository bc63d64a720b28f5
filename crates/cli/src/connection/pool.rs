//! Connections that are lent to one request after the other.
//!
//! All that a request sets ends with its transaction, and is reset behind it once more. A connection of which that is not known is thrown
//! away, so no request finds the role or a setting of another, whatever became of that.

use std::time::Duration;

use deadpool_postgres::{
    Manager, ManagerConfig, Object, PoolError, RecyclingMethod, Runtime, TimeoutType,
};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Row};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::failure::Failure;
use super::settings::Settings;
use crate::error::{Error, with_causes};
use crate::query::Parameter;

const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";
/// For this transaction.
const BECOME: &str = include_str!("become.sql");
const COMMIT: &str = "COMMIT";
const RESET: &str = "RESET ROLE; RESET ALL";
/// Wherever a transaction was left. Statements of before come to their end first.
const SETTLE: &str = "ROLLBACK; RESET ROLE; RESET ALL";

/// The server itself ends a statement that takes longer, unless the pool has a limit of its own.
const STATEMENT: Duration = Duration::from_secs(30);
/// So much later the program gives up a statement that it hears no end of.
const MARGIN: Duration = Duration::from_secs(5);
const CANCEL: Duration = Duration::from_secs(2);
/// For how long a statement goes on whose client has hung up.
const UNWANTED: Duration = Duration::from_secs(1);
/// How long a request waits for a connection that others have.
const TURN: Duration = Duration::from_secs(5);
const CONNECT: Duration = Duration::from_secs(10);
/// Who is silent for so long is lost.
const KEEPALIVES_IDLE: Duration = Duration::from_secs(30);
const UNANSWERED: Duration = Duration::from_secs(45);

#[derive(Clone)]
pub struct Pool {
    lender: deadpool_postgres::Pool,
    tls: MakeRustlsConnect,
    limits: Limits,
}

#[derive(Clone, Copy)]
struct Limits {
    statement: Duration,
    /// How long a statement waits for a lock, if not for as long as it may take.
    lock: Option<Duration>,
}

impl Pool {
    pub fn new(settings: Settings, connections: usize) -> Result<Self, Error> {
        let Settings {
            mut config, tls, ..
        } = settings;
        config.keepalives_idle(KEEPALIVES_IDLE);
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(UNANSWERED);
        }
        let recycling = ManagerConfig {
            recycling_method: RecyclingMethod::Fast,
        };
        let lender =
            deadpool_postgres::Pool::builder(Manager::from_config(config, tls.clone(), recycling))
                .max_size(connections)
                .wait_timeout(Some(TURN))
                .create_timeout(Some(CONNECT))
                .runtime(Runtime::Tokio1)
                .build()
                .map_err(|error| Error::Usage(error.to_string()))?;
        Ok(Self {
            lender,
            tls,
            limits: Limits {
                statement: STATEMENT,
                lock: None,
            },
        })
    }

    pub fn with_statement_timeout(mut self, statement: Duration) -> Self {
        self.limits.statement = statement;
        self
    }

    /// So that what waits for the transaction of another keeps a connection no longer than this.
    pub fn with_lock_timeout(mut self, lock: Duration) -> Self {
        self.limits.lock = Some(lock);
        self
    }

    /// Runs a statement in a transaction of its own, in one round trip, as the role if one is given. A statement that must not run as
    /// anybody else says so itself, by comparing CURRENT_USER.
    pub async fn rows(
        &self,
        role: Option<&str>,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, Failure> {
        let mut lent = self.lend().await?;
        let exchange = self
            .heard(exchange(lent.client()?, self.limits, role, sql, parameters))
            .await?;
        lent.is_clean = exchange.is_over();
        exchange.outcome()
    }

    /// The same in two round trips: the statement is sent when it is known that it will run as the role, so it need not say so itself.
    pub async fn rows_as(
        &self,
        role: &str,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, Failure> {
        let mut lent = self.lend().await?;
        let client = lent.client()?;
        let (begun, became) = self.heard(begin(client, self.limits, Some(role))).await?;
        begun.map_err(Failure::of)?;
        became.map_err(Failure::of_role)?;
        let (rows, ended, reset) = self.heard(end(client, sql, parameters)).await?;
        lent.is_clean = ended.is_ok() && reset.is_ok();
        let rows = rows.map_err(Failure::of)?;
        ended.map_err(Failure::of_commit)?;
        Ok(rows)
    }

    async fn heard<T>(&self, work: impl Future<Output = T>) -> Result<T, Failure> {
        let limit = self.limits.answer();
        tokio::time::timeout(limit, work)
            .await
            .map_err(|_| no_answer(limit))
    }

    async fn lend(&self) -> Result<Lent, Failure> {
        let object = self.lender.get().await.map_err(|error| match error {
            PoolError::Timeout(TimeoutType::Wait) => Failure::Busy,
            PoolError::Backend(error) => Failure::of_connect(&error),
            error => Failure::NoServer(with_causes(&error)),
        })?;
        Ok(Lent {
            object: Some(object),
            tls: self.tls.clone(),
            is_clean: false,
        })
    }
}

impl Limits {
    fn answer(self) -> Duration {
        self.statement + MARGIN
    }
}

fn no_answer(limit: Duration) -> Failure {
    Failure::Lost(format!("no answer for {} seconds", limit.as_secs()))
}

type Answer<T> = Result<T, tokio_postgres::Error>;

/// What the server has said to the parts of a transaction.
struct Exchange {
    begun: Answer<()>,
    became: Answer<Vec<Row>>,
    rows: Answer<Vec<Row>>,
    ended: Answer<()>,
    reset: Answer<()>,
}

/// Everything is sent at once. Where one part fails, those behind it do nothing, and COMMIT rolls back.
async fn exchange(
    client: &Client,
    limits: Limits,
    role: Option<&str>,
    sql: &str,
    parameters: &[Parameter<'_>],
) -> Exchange {
    // In this order, which is that in which the server has them.
    let ((begun, became), (rows, ended, reset)) = tokio::join!(
        biased;
        begin(client, limits, role),
        end(client, sql, parameters),
    );
    Exchange {
        begun,
        became,
        rows,
        ended,
        reset,
    }
}

async fn begin(
    client: &Client,
    limits: Limits,
    role: Option<&str>,
) -> (Answer<()>, Answer<Vec<Row>>) {
    let statement = limits.statement.as_millis().to_string();
    let lock = limits.lock.map(|limit| limit.as_millis().to_string());
    let settings: [Parameter<'_>; 3] = [
        (&role, Type::TEXT),
        (&statement, Type::TEXT),
        (&lock, Type::TEXT),
    ];
    tokio::join!(
        biased;
        client.batch_execute(BEGIN),
        client.query_typed(BECOME, &settings),
    )
}

async fn end(
    client: &Client,
    sql: &str,
    parameters: &[Parameter<'_>],
) -> (Answer<Vec<Row>>, Answer<()>, Answer<()>) {
    tokio::join!(
        biased;
        client.query_typed(sql, parameters),
        client.batch_execute(COMMIT),
        client.batch_execute(RESET),
    )
}

impl Exchange {
    /// Nothing of it is left in the connection.
    fn is_over(&self) -> bool {
        self.begun.is_ok() && self.ended.is_ok() && self.reset.is_ok()
    }

    fn outcome(self) -> Result<Vec<Row>, Failure> {
        self.begun.map_err(Failure::of)?;
        self.became.map_err(Failure::of_role)?;
        let rows = self.rows.map_err(Failure::of)?;
        self.ended.map_err(Failure::of_commit)?;
        Ok(rows)
    }
}

/// A connection, until the request is over. One that is given back in the middle of something, as the client has hung up, is settled first.
struct Lent {
    object: Option<Object>,
    tls: MakeRustlsConnect,
    is_clean: bool,
}

impl Lent {
    fn client(&self) -> Result<&Client, Failure> {
        // It is there until the drop.
        match &self.object {
            Some(object) => Ok(object),
            None => Err(Failure::NoServer("there is no connection".to_owned())),
        }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if self.is_clean {
            return;
        }
        if let Some(object) = self.object.take() {
            match tokio::runtime::Handle::try_current() {
                Ok(runtime) => _ = runtime.spawn(settle(object, self.tls.clone())),
                Err(_) => drop(Object::take(object)),
            }
        }
    }
}

/// What was sent soon ends, as a rule, and the connection is as good as new. Else it is thrown away, and what runs there is cancelled.
async fn settle(object: Object, tls: MakeRustlsConnect) {
    let settled = tokio::time::timeout(UNWANTED, object.batch_execute(SETTLE)).await;
    if let Ok(Ok(())) = settled {
        return;
    }
    let token = object.cancel_token();
    drop(Object::take(object));
    _ = tokio::time::timeout(CANCEL, token.cancel_query(tls)).await;
}
