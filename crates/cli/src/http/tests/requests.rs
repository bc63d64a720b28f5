//! The client against listeners of these tests.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::{Request, Response};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::http::client::{self, Clients};
use crate::http::payload::{Payload, Touched};
use crate::http::resolve::{Lookup, Refused};

const LIMIT: Duration = Duration::from_secs(60);

/// A server that gives everybody the same answer. Says how many connections and how many requests it has had.
struct Server {
    port: u16,
    connections: Arc<AtomicUsize>,
    requests: Arc<AtomicUsize>,
}

impl Server {
    async fn answering(answer: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            port: listener.local_addr().unwrap().port(),
            connections: Arc::default(),
            requests: Arc::default(),
        };
        let (connections, requests) = (
            Arc::clone(&server.connections),
            Arc::clone(&server.requests),
        );
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                connections.fetch_add(1, Ordering::SeqCst);
                let requests = Arc::clone(&requests);
                tokio::spawn(async move {
                    let mut seen = Vec::new();
                    while stream.read_buf(&mut seen).await.is_ok_and(|read| read > 0) {
                        if seen.ends_with(b"{}")
                            || seen.starts_with(b"GET") && seen.ends_with(b"\r\n\r\n")
                        {
                            seen.clear();
                            requests.fetch_add(1, Ordering::SeqCst);
                            stream.write_all(answer.as_bytes()).await.unwrap();
                        }
                    }
                });
            }
        });
        server
    }

    fn at(&self, host: &str) -> String {
        format!("http://{host}:{}/", self.port)
    }

    fn seen(&self) -> (usize, usize) {
        (
            self.connections.load(Ordering::SeqCst),
            self.requests.load(Ordering::SeqCst),
        )
    }
}

const FINE: &str = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfine";

type Answer = Result<Response<Incoming>, hyper_util::client::legacy::Error>;

async fn post(clients: &Clients, allow_private: bool, url: &str) -> (Answer, Touched) {
    let payload = Payload::new(Bytes::from_static(b"{}"));
    let touched = payload.touched();
    let request = Request::post(url).body(payload).unwrap();
    let answer = tokio::time::timeout(LIMIT, clients.of(allow_private).request(request)).await;
    (answer.unwrap(), touched)
}

fn clients() -> Clients {
    Clients::new(Duration::from_secs(10), 8).unwrap()
}

/// All names are these addresses.
fn known_as(addresses: &[&str]) -> Clients {
    let addresses: Vec<IpAddr> = addresses.iter().map(|text| text.parse().unwrap()).collect();
    let lookup: Lookup = Arc::new(move |_| Ok(addresses.clone()));
    Clients::resolving_by(&lookup, Duration::from_secs(10), 8).unwrap()
}

#[tokio::test]
async fn a_private_endpoint_is_reached_and_its_connection_kept() {
    let server = Server::answering(FINE).await;
    let clients = clients();
    for host in ["127.0.0.1", "localhost"] {
        for _ in 0..10 {
            let (answer, touched) = post(&clients, true, &server.at(host)).await;
            let answer = answer.unwrap();
            assert_eq!(answer.status(), 200);
            let body = answer.into_body().collect().await.unwrap().to_bytes();
            assert_eq!(body, "fine");
            assert!(touched.get());
        }
    }
    let (connections, requests) = server.seen();
    assert_eq!(requests, 20);
    assert!(connections < requests, "{connections}");
}

#[tokio::test]
async fn this_machine_is_refused_to_other_endpoints() {
    let server = Server::answering(FINE).await;
    let clients = clients();
    // A connection that is kept for private endpoints serves no other.
    assert!(
        post(&clients, true, &server.at("127.0.0.1"))
            .await
            .0
            .is_ok()
    );
    let before = server.seen();
    for host in [
        "127.0.0.1",
        "127.1",
        "0x7f.1",
        "2130706433",
        "0.0.0.0",
        "0",
        "localhost",
        "LOCALHOST",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
    ] {
        let (answer, touched) = post(&clients, false, &server.at(host)).await;
        let told = answer.unwrap_err();
        assert!(Refused::behind(&told).is_some(), "{host}: {told:?}");
        assert!(!touched.get(), "{host}");
    }
    assert_eq!(server.seen(), before);
}

#[tokio::test]
async fn metadata_is_refused_to_all() {
    let clients = clients();
    for host in [
        "169.254.169.254",
        "[fd00:ec2::254]",
        "[::ffff:169.254.169.254]",
        "[64:ff9b::a9fe:a9fe]",
        "100.100.100.200",
    ] {
        let (answer, _) = post(&clients, true, &format!("http://{host}/latest/meta-data")).await;
        assert!(Refused::behind(&answer.unwrap_err()).is_some(), "{host}");
    }
}

#[tokio::test]
async fn a_connection_goes_to_the_vetted_address() {
    let server = Server::answering(FINE).await;
    let url = server.at("service.example");
    assert!(post(&known_as(&["127.0.0.1"]), true, &url).await.0.is_ok());
    assert_eq!(server.seen(), (1, 1));
    for addresses in [
        &["127.0.0.1"][..],
        &["1.1.1.1", "127.0.0.1"],
        &["127.0.0.1", "1.1.1.1"],
    ] {
        let (answer, touched) = post(&known_as(addresses), false, &url).await;
        let told = answer.unwrap_err();
        let refused = Refused::behind(&told).unwrap();
        assert_eq!(refused.host, "service.example");
        assert_eq!(
            client::told(&told),
            "service.example is refused: 127.0.0.1 is a loopback address"
        );
        assert_eq!(refused.address, IpAddr::from([127, 0, 0, 1]));
        assert!(!touched.get());
    }
    assert_eq!(server.seen(), (1, 1));
}

#[tokio::test]
async fn a_redirect_is_an_answer() {
    let inner = Server::answering(FINE).await;
    let location = inner.at("127.0.0.1");
    let answer = format!("HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n");
    let server = Server::answering(answer.leak()).await;
    let (answer, _) = post(&clients(), true, &server.at("127.0.0.1")).await;
    let answer = answer.unwrap();
    assert_eq!(answer.status(), 302);
    assert_eq!(answer.headers().get("location").unwrap(), location.as_str());
    assert_eq!((server.seen(), inner.seen()), ((1, 1), (0, 0)));
}

#[tokio::test]
async fn nothing_is_sent_where_nobody_listens() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address: SocketAddr = closed.local_addr().unwrap();
    drop(closed);
    let (answer, touched) = post(&clients(), true, &format!("http://{address}/")).await;
    let told = answer.unwrap_err();
    assert!(told.is_connect());
    let text = client::told(&told);
    assert!(text.contains("Connection refused"), "{text}");
    assert!(Refused::behind(&told).is_none());
    assert!(!touched.get());
}

#[tokio::test]
async fn a_request_without_a_body_is_told_of_too() {
    let server = Server::answering(FINE).await;
    let payload = Payload::new(Bytes::new());
    let touched = payload.touched();
    assert!(!touched.get());
    let request = Request::get(server.at("127.0.0.1")).body(payload).unwrap();
    let answer = tokio::time::timeout(LIMIT, clients().of(true).request(request)).await;
    assert_eq!(answer.unwrap().unwrap().status(), 200);
    assert!(touched.get());
}

#[tokio::test]
async fn an_endpoint_that_breaks_off_may_have_seen_the_request() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.read_u8().await.unwrap()
    });
    let (answer, touched) = post(&clients(), true, &format!("http://{address}/")).await;
    assert!(!answer.unwrap_err().is_connect());
    assert!(touched.get());
    assert_eq!(server.await.unwrap(), b'P');
}

/// A URL that never was a template goes through the same check.
#[tokio::test]
async fn what_stands_before_an_at_sign_is_not_the_host() {
    let server = Server::answering(FINE).await;
    for host in [
        "1.1.1.1@127.0.0.1",
        "example.com:80@127.0.0.1",
        "1.1.1.1@localhost",
    ] {
        let told = post(&clients(), false, &server.at(host))
            .await
            .0
            .unwrap_err();
        assert!(Refused::behind(&told).is_some(), "{host}: {told:?}");
    }
    assert_eq!(server.seen(), (0, 0));
}
