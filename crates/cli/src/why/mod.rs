//! `turnstile why`: what keeps a job from starting, and when it may.

use std::process::ExitCode;

use serde::{Deserialize, Serialize};
use tokio_postgres::types::Type;

use crate::each::{Answer, each};
use crate::error::Error;
use crate::{connection, output, query};

const WHY: &str = include_str!("why.sql");

#[derive(clap::Args)]
pub struct Args {
    /// The ids of jobs that wait
    #[arg(value_name = "ID", required = true)]
    ids: Vec<i64>,
    /// Print a JSON object for each id, one a line
    #[arg(long)]
    json: bool,
}

#[derive(Serialize, Deserialize)]
struct Waiting {
    id: i64,
    reasons: Vec<Reason>,
    estimate: Option<Estimate>,
}

#[derive(Serialize, Deserialize)]
struct Reason {
    reason: String,
    gate: Option<String>,
    name: Option<String>,
    running: Option<i32>,
    slots: Option<i32>,
    opens_at: Option<String>,
    holder: Option<i64>,
    detail: String,
}

#[derive(Serialize, Deserialize)]
struct Estimate {
    ahead: Option<i64>,
    is_capped: Option<bool>,
    starts_per_minute: Option<f64>,
    bottleneck: Option<String>,
    starts_at: Option<String>,
}

pub async fn run(args: Args, connection: &connection::Options) -> Result<ExitCode, Error> {
    each(
        "turnstile why",
        connection,
        &args.ids,
        args.json,
        async |client, id| query::row::<Waiting>(client, WHY, &[(&id, Type::INT8)]).await,
    )
    .await
}

impl Answer for Waiting {
    fn text(&self) -> String {
        let mut text = format!("job {}:", self.id);
        if self.reasons.is_empty() {
            text.push_str(" the next claim from its queue takes it");
        }
        for reason in &self.reasons {
            text.push_str("\n  ");
            text.push_str(&reason.text());
        }
        if let Some(estimate) = &self.estimate {
            text.push_str("\n  ");
            text.push_str(&estimate.text());
        }
        text
    }
}

impl Reason {
    fn text(&self) -> String {
        let mut text = self.reason.clone();
        for word in [&self.gate, &self.name].into_iter().flatten() {
            text.push(' ');
            text.push_str(&output::plain(word));
        }
        text.push_str(": ");
        text.push_str(&output::plain(&self.detail));
        if let Some(time) = &self.opens_at {
            text.push_str(&format!(" Opens at {time}."));
        }
        if let Some(holder) = self.holder {
            text.push_str(&format!(" See job {holder}."));
        }
        text
    }
}

impl Estimate {
    fn text(&self) -> String {
        let more = if self.is_capped == Some(true) {
            "more than "
        } else {
            ""
        };
        let mut text = format!(
            "estimate: {more}{} before it",
            self.ahead.unwrap_or_default()
        );
        if let Some(pace) = self.starts_per_minute {
            text.push_str(&format!(", {pace} a minute start"));
        }
        if let Some(gate) = &self.bottleneck {
            text.push_str(&format!(" (the slowest gate: {gate})"));
        }
        match &self.starts_at {
            Some(time) => text.push_str(&format!("; starts about {time}")),
            None => text.push_str("; nothing moves"),
        }
        text
    }
}
