//! `turnstile retry`: jobs that failed, ended or are put off become available now.

use std::process::ExitCode;

use crate::change::{Args, Change};
use crate::connection;
use crate::error::Error;

const RETRY: Change = Change {
    application_name: "turnstile retry",
    one: include_str!("one.sql"),
    many: include_str!("many.sql"),
    told: |state| state,
    done: "made available",
};

pub async fn run(args: Args, connection: &connection::Options) -> Result<ExitCode, Error> {
    RETRY.run(args, connection).await
}
