//! A worker whose handler does nothing: what the runtime itself costs. `bench/program` and `bench/compare` run it.
//!
//! usage: DATABASE_URL=… [STAMP=1] no_op JOBS-AT-ONCE
//!
//! With STAMP it prints the number in the payload of each job, and when the handler began, in seconds of the epoch.

use std::time::SystemTime;
use turnstile_client::{Connector, Result, Run, Shutdown, Worker};

#[derive(serde::Deserialize)]
struct Numbered {
    #[serde(default)]
    number: i64,
}

async fn nothing(_run: Run) {}

async fn stamp(run: Run) -> Result<()> {
    let began = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    let Numbered { number } = run.job.payload()?;
    println!("{number} {:.6}", began.as_secs_f64());
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let server = std::env::var("DATABASE_URL").unwrap_or_default();
    let jobs = std::env::args()
        .nth(1)
        .and_then(|number| number.parse().ok());
    let worker = Worker::new(Connector::parse(&server)?).concurrency(jobs.unwrap_or(1));
    let shutdown = Shutdown::on_signals()?;
    match std::env::var_os("STAMP").is_some_and(|stamps| stamps == "1") {
        true => worker.run(stamp, shutdown).await,
        false => worker.run(nothing, shutdown).await,
    }
}
