//! The driver of the conformance suite: `clients/README.md` says what it prints and what its handlers do.
//!
//! usage: conformance --capabilities
//!        DATABASE_URL=… conformance --queues a,b --concurrency N [--lease S] [--heartbeat S] [--drain S] [--grace S] [--name W]

use std::time::{Duration, SystemTime};

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::sleep;
use tokio_postgres::NoTls;
use turnstile_client::{
    Connector, Failure, Handler, Kinds, NewJob, Outcome, Run, Shutdown, StopReason, Worker,
    enqueue, enqueue_many,
};

const CAPABILITIES: [&str; 14] = [
    "concurrency",
    "heartbeats",
    "told",
    "hard_stop",
    "results",
    "retry",
    "discard",
    "snooze",
    "progress",
    "children",
    "transactions",
    "exact_numbers",
    "reconnects",
    "error_class",
];

#[derive(Deserialize)]
struct Failing {
    error: String,
    times: Option<i32>,
}

#[derive(Deserialize)]
struct Named {
    error: Option<String>,
    error_class: Option<String>,
    seconds: Option<f64>,
}

impl Named {
    fn failure(self) -> Failure {
        let failure = Failure::new(self.error.unwrap_or_default());
        match self.error_class {
            Some(class) => failure.class(class),
            None => failure,
        }
    }
}

#[derive(Deserialize)]
struct Put {
    seconds: f64,
    until: Option<f64>,
}

#[derive(Deserialize)]
struct Sleep {
    seconds: f64,
}

#[derive(Deserialize)]
struct Progress {
    done: f64,
    total: Option<f64>,
    message: Option<String>,
    seconds: f64,
}

#[derive(Deserialize)]
struct Parent {
    children: usize,
}

#[derive(Deserialize)]
struct Transfer {
    payload: Box<RawValue>,
    keep: bool,
}

async fn ok(_: Box<RawValue>, _run: Run) {}

async fn echo(payload: Box<RawValue>, _run: Run) -> Outcome {
    Outcome::Complete(Some(payload))
}

async fn info(_: Box<RawValue>, run: Run) -> Outcome {
    let job = &run.job;
    Outcome::result(&json!({
        "id": job.id.to_string(), "attempt": job.attempt, "queue": job.queue, "kind": job.kind, "priority": job.priority, "tenant": job.tenant,
        "max_attempts": job.max_attempts, "attempts_left": job.attempts_left, "metadata": job.metadata,
    }))
}

async fn sleeps(payload: Sleep, _run: Run) {
    sleep(Duration::from_secs_f64(payload.seconds)).await;
}

async fn fail(payload: Failing, run: Run) -> Result<(), String> {
    match payload.times {
        Some(times) if run.job.attempt > times => Ok(()),
        _ => Err(payload.error),
    }
}

async fn fail_text(_: Box<RawValue>, _run: Run) -> Result<(), &'static str> {
    Err("odd \0\u{1}\u{fffe} end")
}

#[allow(clippy::panic)]
async fn fail_oddly(_: Box<RawValue>, _run: Run) {
    panic!("oddly")
}

async fn bad_result(_: Box<RawValue>, _run: Run) -> Outcome {
    Outcome::result(&"\0")
}

async fn retry(payload: Named, _run: Run) -> Outcome {
    Outcome::Retry {
        after: payload.seconds.map(Duration::from_secs_f64),
        failure: payload.failure(),
    }
}

async fn discard(payload: Named, _run: Run) -> Outcome {
    Outcome::Discard(payload.failure())
}

async fn snooze(payload: Put, _run: Run) -> Outcome {
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    match payload.until {
        Some(until) if until <= now.as_secs_f64() => Outcome::Complete(None),
        _ => Outcome::Snooze(Duration::from_secs_f64(payload.seconds)),
    }
}

async fn told(run: &Run) -> &'static str {
    let reason = match run.stopped().await {
        StopReason::Cancelled => "cancelled",
        StopReason::Lost => "lost",
        StopReason::Shutdown => "shutdown",
    };
    println!(
        "{}",
        json!({"event": "stopping", "id": run.job.id.to_string(), "attempt": run.job.attempt, "reason": reason})
    );
    reason
}

async fn listen(_: Box<RawValue>, run: Run) -> Result<(), &'static str> {
    told(&run).await;
    Err("interrupted")
}

async fn finish(_: Box<RawValue>, run: Run) -> Outcome {
    Outcome::result(&told(&run).await)
}

async fn deaf(_: Box<RawValue>, run: Run) {
    told(&run).await;
    std::future::pending().await
}

async fn progress(payload: Progress, run: Run) -> Result<(), Failure> {
    run.progress(payload.done, payload.total, payload.message.as_deref())
        .await?;
    sleep(Duration::from_secs_f64(payload.seconds)).await;
    Ok(())
}

async fn parent(payload: Parent, run: Run) -> Result<Outcome, Failure> {
    if let Some(children) = run.job.children {
        return Ok(Outcome::result(&children));
    }
    let child = NewJob::new("ok", &())?
        .queue(run.job.queue)
        .parent(run.job.id);
    enqueue_many(&connect().await?, &vec![child; payload.children]).await?;
    Ok(Outcome::AwaitChildren)
}

async fn transfer(payload: Transfer, _run: Run) -> Result<Outcome, Failure> {
    let mut client = connect().await?;
    let transaction = client.transaction().await?;
    let job = NewJob::new("transferred", &payload.payload)?.queue("elsewhere");
    let id = enqueue(&transaction, &job).await?;
    match payload.keep {
        true => transaction.commit().await?,
        false => transaction.rollback().await?,
    }
    Ok(Outcome::result(&id.to_string()))
}

async fn connect() -> Result<tokio_postgres::Client, Failure> {
    let (client, connection) =
        tokio_postgres::connect(&std::env::var("DATABASE_URL")?, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

fn kinds() -> Kinds {
    Kinds::new()
        .on("ok", ok)
        .on("echo", echo)
        .on("info", info)
        .on("sleep", sleeps)
        .on("fail", fail)
        .on("fail_text", fail_text)
        .on("fail_oddly", fail_oddly)
        .on("bad_result", bad_result)
        .on("retry", retry)
        .on("discard", discard)
        .on("snooze", snooze)
        .on("listen", listen)
        .on("finish", finish)
        .on("deaf", deaf)
        .on("progress", progress)
        .on("parent", parent)
        .on("transfer", transfer)
}

/// Says when a handler begins, and when it is gone, in whatever way.
struct Watched(Kinds);

impl Handler for Watched {
    async fn handle(&self, run: Run) -> Outcome {
        let (id, attempt) = (run.job.id.to_string(), run.job.attempt);
        println!(
            "{}",
            json!({"event": "started", "id": id, "attempt": attempt, "kind": run.job.kind})
        );
        let _gone = Gone(json!({"event": "ended", "id": id, "attempt": attempt}));
        self.0.handle(run).await
    }
}

struct Gone(Value);

impl Drop for Gone {
    fn drop(&mut self) {
        println!("{}", self.0);
    }
}

fn configured(server: &str) -> Result<Worker, Failure> {
    let mut worker = Worker::new(Connector::parse(server)?);
    let mut words = std::env::args().skip(1);
    while let Some(option) = words.next() {
        let value = words.next().ok_or("an option without a value")?;
        let seconds = || value.parse().map(Duration::from_secs_f64);
        worker = match option.as_str() {
            "--queues" => worker.queues(value.split(',')),
            "--concurrency" => worker.concurrency(value.parse()?),
            "--lease" => worker.lease(seconds()?),
            "--heartbeat" => worker.heartbeat(seconds()?),
            "--drain" => worker.drain(seconds()?),
            "--grace" => worker.grace(seconds()?),
            "--name" => worker.name(value),
            _ => return Err(format!("unknown option {option}").into()),
        };
    }
    Ok(worker)
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    if std::env::args().nth(1).as_deref() == Some("--capabilities") {
        println!("{}", json!(CAPABILITIES));
        return Ok(());
    }
    let worker = configured(&std::env::var("DATABASE_URL")?)?;
    let shutdown = Shutdown::on_signals()?;
    println!("{}", json!({"event": "ready"}));
    worker.run(Watched(kinds()), shutdown).await?;
    Ok(())
}
