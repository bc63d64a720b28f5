//! `turnstile check`: does the memory of the scheduler agree with the tables?

use std::process::ExitCode;

use serde::{Deserialize, Serialize};

use crate::connection;
use crate::error::{Error, exit};
use crate::{output, query};

const CHECK: &str = include_str!("check.sql");

#[derive(clap::Args)]
pub struct Args {
    /// Print a JSON object for each difference, one a line
    #[arg(long)]
    json: bool,
}

#[derive(Serialize, Deserialize)]
struct Difference {
    problem: String,
    detail: String,
}

pub async fn run(args: Args, connection: &connection::Options) -> Result<ExitCode, Error> {
    let session = connection.settings("turnstile check")?.connect().await?;
    let differences: Vec<Difference> = query::rows(&session.client, CHECK, &[]).await?;
    session.close().await;
    for difference in &differences {
        if args.json {
            output::json(difference)?;
        } else {
            output::line(&format_args!(
                "{}: {}",
                difference.problem,
                output::plain(&difference.detail)
            ))?;
        }
    }
    Ok(if differences.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(exit::DIFFERENT)
    })
}
