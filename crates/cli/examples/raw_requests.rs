//! Requests by the HTTP client of `turnstile dispatch`, with nothing around it: what there is to reach. `bench/dispatch` runs it.
//!
//! usage: raw_requests URL AT-ONCE SECONDS
//!
//! Prints how many requests were answered with 2xx, and in how many seconds. The body has 200 bytes, as payloads have there.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::task::LocalSet;

type Failure = Box<dyn std::error::Error + Send + Sync>;
type Requests = Client<HttpConnector, Full<Bytes>>;

const PAYLOAD: usize = 200;

async fn send(client: &Requests, to: &Uri, body: &Bytes) -> Result<(), Failure> {
    let request = Request::post(to.clone())
        .header("content-type", "application/json")
        .body(Full::new(body.clone()))?;
    let answer = client.request(request).await?;
    let status = answer.status();
    answer.into_body().collect().await?;
    match status.is_success() {
        true => Ok(()),
        false => Err(format!("the endpoint answers {status}").into()),
    }
}

/// One request after the other until the time is over.
async fn work(
    client: Requests,
    to: Uri,
    body: Bytes,
    end: Instant,
    done: Rc<Cell<u64>>,
) -> Result<(), Failure> {
    while Instant::now() < end {
        send(&client, &to, &body).await?;
        done.set(done.get() + 1);
    }
    Ok(())
}

async fn all(to: Uri, at_once: usize, seconds: u64) -> Result<(), Failure> {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client = Client::builder(TokioExecutor::new()).build(connector);
    let body = Bytes::from(format!("{{\"data\": \"{}\"}}", "x".repeat(PAYLOAD - 12)));
    let done = Rc::new(Cell::new(0));
    let begun = Instant::now();
    let end = begun + Duration::from_secs(seconds);
    let workers = (0..at_once).map(|_| {
        let (client, to, body, done) = (client.clone(), to.clone(), body.clone(), done.clone());
        tokio::task::spawn_local(work(client, to, body, end, done))
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.await??;
    }
    println!("{} {:.6}", done.get(), begun.elapsed().as_secs_f64());
    Ok(())
}

fn argument(place: usize) -> Result<String, Failure> {
    let found = std::env::args().nth(place);
    found.ok_or_else(|| "usage: raw_requests URL AT-ONCE SECONDS".into())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let (to, at_once, seconds) = (argument(1)?.parse()?, argument(2)?, argument(3)?);
    LocalSet::new()
        .run_until(all(to, at_once.parse()?, seconds.parse()?))
        .await
}
