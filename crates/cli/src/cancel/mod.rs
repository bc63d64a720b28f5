//! `turnstile cancel`: jobs that wait end, and runs are asked to stop.

use std::process::ExitCode;

use crate::change::{Args, Change};
use crate::connection;
use crate::error::Error;

const CANCEL: Change = Change {
    application_name: "turnstile cancel",
    one: include_str!("one.sql"),
    many: include_str!("many.sql"),
    told: |state| match state {
        "running" => "runs, and was asked to stop",
        state => state,
    },
    done: "cancelled or asked to stop",
};

pub async fn run(args: Args, connection: &connection::Options) -> Result<ExitCode, Error> {
    CANCEL.run(args, connection).await
}
