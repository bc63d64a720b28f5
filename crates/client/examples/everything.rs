//! A worker for the tests: each kind of job uses something else of the library. Prints what happens, a line each.
//!
//! usage: DATABASE_URL=… everything SECONDS-TO-DRAIN SECONDS-OF-GRACE

use std::collections::HashSet;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use tokio_postgres::NoTls;
use turnstile_client::{
    Connector, Failure, Kinds, NewJob, Outcome, Run, Shutdown, StopReason, Worker, enqueue,
    enqueue_many,
};

#[derive(Deserialize)]
struct Sum {
    a: i64,
    b: i64,
}

async fn sum(terms: Sum, _run: Run) -> Outcome {
    Outcome::result(&(terms.a + terms.b))
}

#[derive(Deserialize)]
struct Parent {
    children: usize,
}

/// Adds its children, waits for them, and runs again when they have ended.
async fn parent(parent: Parent, run: Run) -> Result<Outcome, Failure> {
    if let Some(children) = run.job.children {
        return Ok(Outcome::result(&children));
    }
    let child = NewJob::new("sum", &serde_json::json!({"a": 1, "b": 2}))?.parent(run.job.id);
    let client = connect().await?;
    enqueue_many(&client, &vec![child; parent.children]).await?;
    Ok(Outcome::AwaitChildren)
}

#[derive(Deserialize)]
struct Hasty {
    waits_again: bool,
}

/// Waits for children that have ended before it does.
async fn hasty(hasty: Hasty, run: Run) -> Result<Outcome, Failure> {
    if let Some(children) = run.job.children {
        return Ok(match hasty.waits_again {
            true => Outcome::AwaitChildren,
            false => Outcome::result(&children),
        });
    }
    let child = NewJob::new("sum", &())?
        .queue("elsewhere")
        .parent(run.job.id);
    let client = connect().await?;
    for added in enqueue_many(&client, &[child.clone(), child]).await? {
        let cancel = "SELECT turnstile.cancel($1)";
        client.query_one(cancel, &[&added.id]).await?;
    }
    Ok(Outcome::AwaitChildren)
}

/// Adds a job in a transaction of its own, and keeps it or does not.
async fn transfer(is_kept: bool, _run: Run) -> Result<Outcome, Failure> {
    let mut client = connect().await?;
    let transaction = client.transaction().await?;
    let job = NewJob::new("transferred", &())?
        .queue("elsewhere")
        .unique_key("transferred")
        .unique_states(["available", "running"]);
    let id = enqueue(&transaction, &job).await?;
    if is_kept {
        transaction.commit().await?;
    } else {
        transaction.rollback().await?;
    }
    Ok(Outcome::result(&id))
}

async fn connect() -> Result<tokio_postgres::Client, Failure> {
    let (client, connection) = tokio_postgres::connect(&database()?, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

static SEEN: LazyLock<Mutex<HashSet<i64>>> = LazyLock::new(Mutex::default);

/// Puts the job off once.
async fn snooze(seconds: f64, run: Run) -> Outcome {
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    match seen.insert(run.job.id) {
        true => Outcome::Snooze(Duration::from_secs_f64(seconds)),
        false => Outcome::result(&run.job.attempt),
    }
}

async fn retry(seconds: f64, _run: Run) -> Outcome {
    Outcome::Retry {
        after: Some(Duration::from_secs_f64(seconds)),
        failure: Failure::new("busy").class("line busy"),
    }
}

async fn discard(error: String, _run: Run) -> Outcome {
    Outcome::Discard(error.into())
}

async fn fail(error: String, _run: Run) -> Result<(), String> {
    Err(error)
}

/// With what PostgreSQL keeps in no text.
async fn nul(error: String, _run: Run) -> Result<(), String> {
    Err(format!("{error}\0b"))
}

#[allow(clippy::panic)]
async fn panics(message: String, _run: Run) {
    panic!("{message}")
}

/// Reports how far it is, and goes on until it is told to stop.
async fn listens(_: Value, run: Run) -> Result<(), String> {
    let reported = run.progress(1.0, Some(4.0), Some("begun")).await;
    println!("begun {} {:?}", run.job.id, reported.is_ok());
    let reason = run.stopped().await;
    println!("stopped {} {reason:?}", run.job.id);
    Err("interrupted".into())
}

/// The same, but it has done its job all the same.
async fn finishes(_: Value, run: Run) -> Outcome {
    println!("begun {}", run.job.id);
    let reason = run.stopped().await;
    Outcome::result(&matches!(reason, StopReason::Shutdown))
}

/// Tells when it is gone, in whatever way.
struct Dropped(i64);

impl Drop for Dropped {
    fn drop(&mut self) {
        println!("dropped {}", self.0);
    }
}

async fn deaf(_: Value, run: Run) {
    let _dropped = Dropped(run.job.id);
    println!("begun {}", run.job.id);
    std::future::pending().await
}

fn database() -> Result<String, std::env::VarError> {
    std::env::var("DATABASE_URL")
}

fn seconds(argument: usize) -> Result<Duration, Failure> {
    let text = std::env::args().nth(argument).unwrap_or("1".into());
    Ok(Duration::try_from_secs_f64(text.parse()?)?)
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let kinds = Kinds::new()
        .on("sum", sum)
        .on("parent", parent)
        .on("hasty", hasty)
        .on("transfer", transfer)
        .on("snooze", snooze)
        .on("retry", retry)
        .on("discard", discard)
        .on("fail", fail)
        .on("nul", nul)
        .on("panics", panics)
        .on("listens", listens)
        .on("finishes", finishes)
        .on("deaf", deaf);
    let worker = Worker::new(Connector::parse(&database()?)?)
        .queues(["default"])
        .concurrency(4)
        .heartbeat(Duration::from_millis(100))
        .drain(seconds(1)?)
        .grace(seconds(2)?);
    worker.run(kinds, Shutdown::on_signals()?).await?;
    Ok(())
}
