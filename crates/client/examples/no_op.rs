//! A worker whose handler does nothing: what the runtime itself costs. `bench/program` runs it.
//!
//! usage: DATABASE_URL=… no_op JOBS-AT-ONCE

use turnstile_client::{Connector, Result, Run, Shutdown, Worker};

async fn nothing(_run: Run) {}

#[tokio::main]
async fn main() -> Result<()> {
    let server = std::env::var("DATABASE_URL").unwrap_or_default();
    let jobs = std::env::args()
        .nth(1)
        .and_then(|number| number.parse().ok());
    let worker = Worker::new(Connector::parse(&server)?).concurrency(jobs.unwrap_or(1));
    worker.run(nothing, Shutdown::on_signals()?).await
}
