//! usage: DATABASE_URL=postgresql://localhost/mydb worker [queue]

use serde_json::Value;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Config, Error, NoTls, Row};

/// With the types of its parameters: so it is sent without being prepared first, which suits any pooler.
type Statement = (&'static str, &'static [Type]);
const CLAIM_NEXT: Statement = (
    "SELECT id, attempt, payload FROM turnstile.claim_next($1)",
    &[Type::TEXT],
);
const COMPLETE_AND_CLAIM_NEXT: Statement = (
    "SELECT id, attempt, payload FROM turnstile.complete_and_claim_next($1, $2)",
    &[Type::INT8, Type::INT4],
);
const COMPLETE: Statement = (
    "SELECT turnstile.complete($1, $2)",
    &[Type::INT8, Type::INT4],
);
const FAIL: Statement = (
    "SELECT turnstile.fail($1, $2, $3)",
    &[Type::INT8, Type::INT4, Type::TEXT],
);
const RELEASE: Statement = (
    "SELECT turnstile.release($1, $2)",
    &[Type::INT8, Type::INT4],
);
/// Leaves alone what was completed before, or superseded.
const COMPLETE_AGAIN: Statement = (
    "SELECT turnstile.complete_many(ARRAY[$1], ARRAY[$2])",
    &[Type::INT8, Type::INT4],
);
const WAIT: Statement = (
    "CALL turnstile.wait_for_job(ARRAY[$1], '1 minute')",
    &[Type::TEXT],
);

const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The run of which it is not known yet whether the server knows that it is completed.
type Done = Option<(i64, i32)>;

/// Asked to stop, it lets the job in hand end and takes no other.
type Stop = watch::Receiver<bool>;

async fn work(db: &Client, queue: &str, stop: &mut Stop, done: &mut Done) -> Result<(), Error> {
    if let Some((id, attempt)) = *done {
        first(db, COMPLETE_AGAIN, &[&id, &attempt]).await?;
        *done = None;
    }
    let mut job = None;
    while !*stop.borrow() {
        if job.is_none() {
            job = first(db, CLAIM_NEXT, &[&queue]).await?;
        }
        let Some(row) = job.take() else {
            sleep(db, queue, stop).await?;
            continue;
        };
        let (id, attempt): (i64, i32) = (row.get("id"), row.get("attempt"));
        if let Err(error) = handle(row.get("payload"), attempt).await {
            first(db, FAIL, &[&id, &attempt, &error]).await?;
            continue;
        }
        *done = Some((id, attempt));
        if *stop.borrow() {
            first(db, COMPLETE, &[&id, &attempt]).await?;
        } else {
            job = first(db, COMPLETE_AND_CLAIM_NEXT, &[&id, &attempt]).await?;
        }
        *done = None;
    }
    if let Some(row) = job {
        let (id, attempt): (i64, i32) = (row.get("id"), row.get("attempt"));
        first(db, RELEASE, &[&id, &attempt]).await?; // claimed, not started
    }
    Ok(())
}

/// Stands for your own work: takes so many seconds, and fails on its first so many attempts.
async fn handle(payload: Value, attempt: i32) -> Result<(), String> {
    println!("attempt {attempt}: {payload}");
    let seconds = payload["seconds"].as_f64().unwrap_or(0.0);
    tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
    if i64::from(attempt) <= payload["failures"].as_i64().unwrap_or(0) {
        return Err("was told to fail".into());
    }
    Ok(())
}

/// Who sleeps holds no job; asked to stop it goes at once, and the server sees that the connection ends.
async fn sleep(db: &Client, queue: &str, stop: &mut Stop) -> Result<(), Error> {
    let values: [&(dyn ToSql + Sync); 1] = [&queue];
    tokio::select! {
        slept = first(db, WAIT, &values) => slept.map(drop),
        _ = stop.wait_for(|&asked| asked) => Ok(()),
    }
}

async fn first(
    db: &Client,
    (sql, types): Statement,
    values: &[&(dyn ToSql + Sync)],
) -> Result<Option<Row>, Error> {
    let typed: Vec<_> = values.iter().copied().zip(types.iter().cloned()).collect();
    Ok(db.query_typed(sql, &typed).await?.into_iter().next())
}

/// A lost connection is made anew, to whichever of the hosts is the primary then.
async fn run(config: &Config, queue: &str, mut stop: Stop) -> Result<(), Error> {
    let (mut done, mut pause) = (None, FIRST_PAUSE);
    while !*stop.borrow() || done.is_some() {
        let ended = match config.connect(NoTls).await {
            Ok((db, connection)) => {
                tokio::spawn(connection);
                pause = FIRST_PAUSE;
                work(&db, queue, &mut stop, &mut done).await
            }
            Err(error) => Err(error),
        };
        match ended {
            Err(error) if is_lost(&error) => eprintln!("{error:?}"),
            ended => return ended,
        }
        tokio::time::sleep(pause).await;
        pause = LONGEST_PAUSE.min(2 * pause);
    }
    Ok(())
}

/// Whether it is the connection that failed, and not the call.
fn is_lost(error: &Error) -> bool {
    let of_connections = ["08", "57P", "53300"];
    error.code().is_none_or(|state| {
        of_connections
            .iter()
            .any(|class| state.code().starts_with(class))
    })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (ask, stop) = watch::channel(false);
    let mut terminations = signal(SignalKind::terminate())?;
    tokio::spawn(async move {
        terminations.recv().await;
        ask.send_replace(true);
    });
    let config = std::env::var("DATABASE_URL")?.parse()?;
    let queue = std::env::args().nth(1).unwrap_or("default".into());
    run(&config, &queue, stop).await?;
    Ok(())
}
