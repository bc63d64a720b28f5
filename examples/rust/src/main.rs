//! usage: DATABASE_URL=postgresql://localhost/mydb worker [queue]

use serde_json::Value;
use std::time::Duration;
use turnstile_client::{Connector, Run, Shutdown, Worker};

/// Stands for your own work: takes so many seconds, and fails on its first so many attempts.
async fn handle(run: Run) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let (payload, attempt): (Value, i32) = (run.job.payload()?, run.job.attempt);
    println!("attempt {attempt}: {payload}");
    let seconds = payload["seconds"].as_f64().unwrap_or(0.0);
    tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
    match i64::from(attempt) <= payload["failures"].as_i64().unwrap_or(0) {
        true => Err("was told to fail".into()),
        false => Ok(()),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    tracing_subscriber::fmt().init();
    let server = Connector::parse(&std::env::var("DATABASE_URL")?)?;
    let queue = std::env::args().nth(1).unwrap_or("default".into());
    let worker = Worker::new(server).queues([queue]);
    worker.run(handle, Shutdown::on_signals()?).await?;
    Ok(())
}
