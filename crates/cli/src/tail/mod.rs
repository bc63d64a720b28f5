//! `turnstile tail`: jobs as they end, and runs as they fail.
//!
//! The server keeps the place: each row of `turnstile.recent` has a cursor, and a reading gives what comes after it, each job once,
//! whatever the order of commits. So a lost session costs nothing but time.

mod ended;
mod failures;
mod filter;

use std::process::ExitCode;
use std::time::Duration;

use crate::connection::{self, Session, Settings};
use crate::error::Error;
use crate::{arguments, output};
use ended::{Ended, PAGE};
use failures::Failures;
use filter::Filter;

const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// What stands for the beginning of the history.
const OLDEST: &str = "oldest";

#[derive(clap::Args)]
pub struct Args {
    /// Begin with so many of the last ten jobs that ended, of those that the filters let through
    #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 10, value_parser = clap::value_parser!(u8).range(0..=10))]
    lines: u8,
    /// Begin with the oldest job that the history has
    #[arg(long, conflicts_with_all = ["lines", "after"])]
    oldest: bool,
    /// Go on behind the job that had this cursor in the output of --json
    #[arg(long, value_name = "CURSOR", conflicts_with = "lines")]
    after: Option<String>,
    /// End when all that has ended so far is shown
    #[arg(long)]
    no_follow: bool,
    /// How often to look for more: 1s or longer
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = a_second_or_more)]
    every: Duration,
    /// Print a JSON object for each job, one a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    filter: Filter,
}

/// More often would cost the server more than it shows the reader.
fn a_second_or_more(text: &str) -> Result<Duration, String> {
    match arguments::interval(text)? {
        time if time < Duration::from_secs(1) => Err(format!("{text:?} is less than 1s")),
        time => Ok(time),
    }
}

/// What is shown, and how far.
struct Tail {
    args: Args,
    /// The cursor of the last job, or where to begin; none before the first reading of the last few.
    since: Option<String>,
    failures: Failures,
}

pub async fn run(args: Args, connection: &connection::Options) -> Result<ExitCode, Error> {
    let settings = connection.settings("turnstile tail")?;
    let since = match args.oldest {
        true => Some(OLDEST.to_owned()),
        false => args.after.clone(),
    };
    let mut tail = Tail {
        failures: Failures::new(args.oldest),
        since,
        args,
    };
    // What is wrong from the beginning is told at once.
    let mut session = settings.connect().await?;
    loop {
        let outcome = tail.serve(&session).await;
        match outcome {
            Err(error) if !tail.args.no_follow && error.has_lost(&session.client) => {
                session = connect_again(&settings, &error).await?;
            }
            outcome => {
                session.close().await;
                let outcome = outcome.map_err(|error| of_cursor(error, tail.args.after.as_deref()));
                return outcome.map(|()| ExitCode::SUCCESS);
            }
        }
    }
}

/// The server names the cursor as an argument of its own, and nobody has called that.
fn of_cursor(error: Error, after: Option<&str>) -> Error {
    match (error.refusal(), after) {
        (Some(refusal), Some(after)) if refusal.message() == "since is no cursor" => Error::Usage(
            format!("--after {after:?} is no cursor; the output of --json has one for each job"),
        ),
        _ => error,
    }
}

/// Says each reason once for as long as it stays the same.
async fn connect_again(settings: &Settings, lost: &Error) -> Result<Session, Error> {
    let mut told = lost.to_string();
    output::complain(&told);
    let mut wait = FIRST_WAIT;
    loop {
        output::pause(wait).await?;
        match settings.connect().await {
            Ok(session) => {
                output::complain(&"connected again");
                return Ok(session);
            }
            Err(error) => {
                let reason = error.to_string();
                if reason != told {
                    output::complain(&reason);
                    told = reason;
                }
            }
        }
        wait = (wait * 2).min(LONGEST_WAIT);
    }
}

impl Tail {
    /// Until the session is lost, or all has been shown that was asked for.
    async fn serve(&mut self, session: &Session) -> Result<(), Error> {
        loop {
            let read = ended::read(&session.client, self.since.as_deref());
            let jobs = session.answered(read).await?;
            let is_full = self.since.is_some() && jobs.len() >= PAGE;
            let failed = match is_full {
                true => Vec::new(),
                false => {
                    session
                        .answered(self.failures.read(&session.client))
                        .await?
                }
            };
            self.show(jobs, failed)?;
            if is_full {
                continue;
            }
            if self.args.no_follow {
                return Ok(());
            }
            output::pause(self.args.every).await?;
        }
    }

    /// The runs that failed have the cursor of the job before them.
    fn show(&mut self, jobs: Vec<Ended>, failed: Vec<Ended>) -> Result<(), Error> {
        let is_first = self.since.is_none();
        let begun_at = self.since.clone().unwrap_or_else(|| OLDEST.to_owned());
        match jobs.last() {
            Some(last) => self.since = Some(last.cursor.clone()),
            // An empty history: what ends from now on is all that it will have.
            None if is_first => self.since = Some(OLDEST.to_owned()),
            None => {}
        }
        let mut shown: Vec<Ended> = jobs
            .into_iter()
            .filter(|job| self.args.filter.lets_through(job))
            .collect();
        if is_first {
            let skipped = shown.len().saturating_sub(usize::from(self.args.lines));
            shown.drain(..skipped);
        }
        let failed = failed
            .into_iter()
            .filter(|run| self.args.filter.lets_through(run));
        let mut shown = merged(shown, failed.collect());
        let mut cursor = begun_at;
        for job in &mut shown {
            match job.cursor.is_empty() {
                true => job.cursor.clone_from(&cursor),
                false => cursor.clone_from(&job.cursor),
            }
        }
        for job in &shown {
            match self.args.json {
                true => output::json(job)?,
                false => output::line(&job.text())?,
            }
        }
        Ok(())
    }
}

/// Both by time, each in the order that it has.
fn merged(jobs: Vec<Ended>, failed: Vec<Ended>) -> Vec<Ended> {
    let mut failed = failed.into_iter().peekable();
    let mut both = Vec::new();
    for job in jobs {
        while let Some(run) = failed.next_if(|run| run.at < job.at) {
            both.push(run);
        }
        both.push(job);
    }
    both.extend(failed);
    both
}
