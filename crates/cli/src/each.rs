//! Jobs by their ids, one after the other. What the server refuses for one does not keep the others from being tried.

use std::process::ExitCode;

use serde::Serialize;
use tokio_postgres::Client;

use crate::connection::{self, Session};
use crate::error::{Error, Refusal, exit};
use crate::output;

/// A line of JSON about a job that was refused.
#[derive(Serialize)]
struct Refused {
    id: i64,
    error: Refusal,
}

/// What is said of one job, as text or as JSON.
pub trait Answer: Serialize {
    fn text(&self) -> String;
}

pub async fn each<T: Answer>(
    name: &str,
    connection: &connection::Options,
    ids: &[i64],
    json: bool,
    ask: impl AsyncFn(&Client, i64) -> Result<T, Error>,
) -> Result<ExitCode, Error> {
    let session = connection.settings(name)?.connect().await?;
    let outcome = ask_each(&session, ids, json, ask).await;
    session.close().await;
    outcome
}

async fn ask_each<T: Answer>(
    session: &Session,
    ids: &[i64],
    json: bool,
    ask: impl AsyncFn(&Client, i64) -> Result<T, Error>,
) -> Result<ExitCode, Error> {
    let mut refused = false;
    for &id in ids {
        match ask(&session.client, id).await {
            Ok(answer) if json => output::json(&answer)?,
            Ok(answer) => output::line(&answer.text())?,
            Err(error) => {
                let refusal = match error.refusal() {
                    Some(refusal) if !error.has_lost(&session.client) => refusal,
                    _ => return Err(error),
                };
                refused = true;
                if json {
                    output::json(&Refused { id, error: refusal })?;
                } else {
                    output::complain(&format_args!("job {id}: {error}"));
                }
            }
        }
    }
    Ok(match refused {
        true => ExitCode::from(exit::REFUSED),
        false => ExitCode::SUCCESS,
    })
}
