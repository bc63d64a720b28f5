//! Statements: constant text with typed parameters, and unnamed, so that they work behind PgBouncer in transaction mode.

use serde::de::DeserializeOwned;
use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};

use crate::error::Error;

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
