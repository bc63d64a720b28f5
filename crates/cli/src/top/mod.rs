//! `turnstile top`: what happens in the queues, as it happens.
//!
//! `figures` reads, `feed` reads again and again, `state` is what the screen shows, `sheets` makes rows of it, `draw` draws them, and
//! `text` prints them.

mod draw;
mod feed;
mod figures;
mod format;
mod keys;
mod live;
mod orders;
pub mod percentiles;
mod sheets;
mod state;
mod text;

use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

use serde::Serialize;

use crate::connection::{self, Session};
use crate::error::Error;
use crate::{arguments, output};
use figures::{Batch, Gate, Rows, Subject, Summary, Worker};

#[derive(clap::Args)]
pub struct Args {
    /// What to show first; with --once, what alone to print
    #[arg(value_enum)]
    show: Option<Subject>,
    /// Only what has this text in its name, in upper or lower case
    #[arg(long, value_name = "TEXT", default_value = "")]
    filter: String,
    /// How often to read the figures, such as 500ms, 2s or 1m
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = arguments::interval)]
    every: Duration,
    /// Print the figures once as text, without a screen
    #[arg(long)]
    once: bool,
    /// With --once, print one JSON object
    #[arg(long, requires = "once")]
    json: bool,
}

pub async fn run(args: Args, connection: &connection::Options) -> Result<ExitCode, Error> {
    let settings = connection.settings("turnstile top")?;
    if args.once {
        let session = settings.connect().await?;
        let printed = print_once(&args, &session).await;
        session.close().await;
        printed?;
    } else if std::io::stdout().is_terminal() && std::io::stdin().is_terminal() {
        live::run(
            settings,
            args.show.unwrap_or(Subject::Queues),
            args.filter,
            args.every,
        )
        .await?;
    } else {
        return Err(Error::Usage(
            "top needs a terminal; --once prints the figures instead".to_owned(),
        ));
    }
    Ok(ExitCode::SUCCESS)
}

#[derive(Default, Serialize)]
struct Everything {
    #[serde(flatten)]
    summary: Option<Summary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queues: Option<Vec<Gate>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenants: Option<Vec<Gate>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    batches: Option<Vec<Batch>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    workers: Option<Vec<Worker>>,
}

async fn print_once(args: &Args, session: &Session) -> Result<(), Error> {
    let summary = figures::summary(&session.client).await?;
    let mut readings = Vec::new();
    for subject in Subject::ALL
        .into_iter()
        .filter(|subject| args.show.is_none_or(|shown| shown == *subject))
    {
        readings.push((
            subject,
            figures::rows(&session.client, subject, &args.filter).await?,
        ));
    }
    if args.json {
        print_json(summary, readings)
    } else {
        print_text(&summary, &readings)
    }
}

fn print_json(summary: Summary, readings: Vec<(Subject, Rows)>) -> Result<(), Error> {
    let mut everything = Everything {
        summary: Some(summary),
        ..Everything::default()
    };
    for (_, rows) in readings {
        match rows {
            Rows::Queues(rows) => everything.queues = Some(rows),
            Rows::Tenants(rows) => everything.tenants = Some(rows),
            Rows::Batches(rows) => everything.batches = Some(rows),
            Rows::Workers(rows) => everything.workers = Some(rows),
        }
    }
    output::json(&everything)
}

fn print_text(summary: &Summary, readings: &[(Subject, Rows)]) -> Result<(), Error> {
    output::line(&text::summary(summary))?;
    for (subject, rows) in readings {
        let mut sheet = sheets::make(rows, percentiles::since_reset);
        sheet.sort(sheet.order);
        output::line(&format_args!("\n{}", text::sheet(*subject, &sheet)))?;
    }
    Ok(())
}
