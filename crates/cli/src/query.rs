//! Statements: constant text with typed parameters, and unnamed, so that they work behind PgBouncer in transaction mode.

use std::time::Duration;

use serde::de::DeserializeOwned;
use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};

use crate::connection::{Session, Settings};
use crate::error::Error;

/// After so long without an answer the session counts as lost.
const ANSWER: Duration = Duration::from_secs(30);
const CANCEL: Duration = Duration::from_secs(2);

pub type Parameter<'a> = (&'a (dyn ToSql + Sync), Type);

/// The rows of a statement that gives one json or jsonb value a row.
pub async fn rows<T: DeserializeOwned>(
    client: &Client,
    sql: &str,
    parameters: &[Parameter<'_>],
) -> Result<Vec<T>, Error> {
    client
        .query_typed(sql, parameters)
        .await?
        .iter()
        .map(|row| {
            let value: serde_json::Value = row.try_get(0)?;
            Ok(serde_json::from_value(value)?)
        })
        .collect()
}

/// The only row of such a statement.
pub async fn row<T: DeserializeOwned>(
    client: &Client,
    sql: &str,
    parameters: &[Parameter<'_>],
) -> Result<T, Error> {
    let row = client.query_typed_one(sql, parameters).await?;
    let value: serde_json::Value = row.try_get(0)?;
    Ok(serde_json::from_value(value)?)
}

/// A statement that takes too long is cancelled, so that it does not go on in a server that only seemed lost.
pub async fn answered<T>(
    session: &Session,
    settings: &Settings,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    match tokio::time::timeout(ANSWER, work).await {
        Ok(outcome) => outcome,
        Err(_) => {
            let cancel = session.client.cancel_token();
            _ = tokio::time::timeout(CANCEL, cancel.cancel_query(settings.tls.clone())).await;
            Err(Error::no_answer(ANSWER))
        }
    }
}
