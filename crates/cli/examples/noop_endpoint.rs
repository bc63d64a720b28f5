//! An endpoint that does nothing: what a request itself costs. `bench/dispatch` runs it.
//!
//! usage: [STAMP=1] noop_endpoint PORT
//!
//! With STAMP it prints the id of each job, and when its request came, in seconds of the epoch.

use std::net::Ipv4Addr;
use std::time::SystemTime;

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use tokio::net::TcpListener;

/// The body is read: a connection on which some is left would be closed.
async fn nothing(_body: Bytes) -> StatusCode {
    StatusCode::NO_CONTENT
}

async fn stamp(headers: HeaderMap, _body: Bytes) -> StatusCode {
    let came = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    let id = headers.get("turnstile-job-id");
    let id = id.and_then(|id| id.to_str().ok()).unwrap_or_default();
    println!("{id} {:.6}", came.as_secs_f64());
    StatusCode::NO_CONTENT
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let port = std::env::args().nth(1).and_then(|port| port.parse().ok());
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port.unwrap_or(0))).await?;
    let stamps = std::env::var_os("STAMP").is_some_and(|stamps| stamps == "1");
    let routes = match stamps {
        true => Router::new().fallback(stamp),
        false => Router::new().fallback(nothing),
    };
    axum::serve(listener, routes).await
}
