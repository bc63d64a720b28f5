//! Connections of clients: how many there are, how long they may be silent, and how they end.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::Version;
use axum::http::header::HOST;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::Problem;
use super::patient::Patient;

/// For the head of a request, and between two requests.
const HEAD: Duration = Duration::from_secs(30);
const LONGEST_HEAD: usize = 64 * 1024;
/// After an error such as too many open files.
const PAUSE: Duration = Duration::from_millis(100);

#[derive(Clone)]
pub struct Limits {
    /// Others wait until one of these has gone.
    pub connections: usize,
    /// How long requests under way may take once it is to end.
    pub grace: Duration,
    pub tls: Option<TlsAcceptor>,
}

/// Until `shutdown`, and then for as long as requests are under way, but for `grace`.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    limits: Limits,
    shutdown: impl Future<Output = ()>,
) {
    let router = router.layer(middleware::from_fn(with_host));
    let places = Arc::new(Semaphore::new(limits.connections));
    let (ending, ends) = watch::channel(false);
    let mut connections = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            (stream, place) = accept(&listener, &places) => {
                connections.spawn(talk(stream, limits.tls.clone(), router.clone(), ends.clone(), place));
            }
            Some(_) = connections.join_next() => {}
        }
    }
    drop(listener);
    _ = ending.send(true);
    let all_ended = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(limits.grace, all_ended).await.is_err() {
        tracing::warn!("requests are given up that are still under way");
    }
}

/// HTTP/1.1 has each request say once which host it is for, so that all on the way agree on that.
async fn with_host(request: Request, next: Next) -> Response {
    let hosts = request.headers().get_all(HOST).iter().count();
    let is_old = request.version() < Version::HTTP_11;
    match (hosts, is_old) {
        (1, _) | (0, true) => next.run(request).await,
        _ => Problem::bad_request("The header Host must be there once.").into_response(),
    }
}

/// What cannot be taken now can be taken when others have gone.
async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> (TcpStream, Option<OwnedSemaphorePermit>) {
    // It fails only if the semaphore is closed, which nobody does.
    let place = Arc::clone(places).acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return (stream, place),
            Err(error) => {
                tracing::warn!(%error, "a connection cannot be taken");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

async fn talk(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    router: Router,
    ends: watch::Receiver<bool>,
    _place: Option<OwnedSemaphorePermit>,
) {
    _ = stream.set_nodelay(true);
    let stream = Patient::new(stream);
    let Some(tls) = tls else {
        return converse(stream, router, ends).await;
    };
    match tokio::time::timeout(HEAD, tls.accept(stream)).await {
        Ok(Ok(stream)) => converse(stream, router, ends).await,
        Ok(Err(error)) => {
            tracing::debug!(%error, "a client does not speak TLS as this program does")
        }
        Err(_) => {}
    }
}

async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    router: Router,
    mut ends: watch::Receiver<bool>,
) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(LONGEST_HEAD)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut connection = pin!(connection);
    let asked_to_end = async { _ = ends.wait_for(|ends| *ends).await };
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = asked_to_end => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection has ended");
    }
}
