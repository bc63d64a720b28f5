//! The HTTP client: HTTP/1.1 and 2, connections kept by host, TLS with the system's roots. It follows no redirect and knows no proxy.
//!
//! Endpoints with `allow_private` have a client of their own, so that no connection which was made for one of these serves another.

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::Uri;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tower_service::Service;

use super::payload::Payload;
use super::resolve::{self, Lookup, Refused, Vetted};
use crate::error::{Error, with_causes};

pub type Client = legacy::Client<HttpsConnector<Guarded>, Payload>;

/// Servers close idle connections after a minute or more; one that is closed already costs a request a second try.
const IDLE: Duration = Duration::from_secs(50);
const KEEPALIVE: Duration = Duration::from_secs(30);
/// A connection with HTTP/2 has many requests: one that has died must not hold them all until their deadlines.
const PING: Duration = Duration::from_secs(20);

#[derive(Clone)]
pub struct Clients {
    public: Client,
    private: Client,
}

impl Clients {
    /// `connect`: how long TCP may take, over all addresses of a name. `max_idle`: how many connections to a host are kept.
    pub fn new(connect: Duration, max_idle: usize) -> Result<Self, Error> {
        Self::resolving_by(&resolve::system(), connect, max_idle)
    }

    pub fn resolving_by(
        lookup: &Lookup,
        connect: Duration,
        max_idle: usize,
    ) -> Result<Self, Error> {
        let tls = tls()?;
        let client = |allow_private| {
            let http = Guarded::new(allow_private, Arc::clone(lookup), connect);
            let https = HttpsConnectorBuilder::new()
                .with_tls_config(tls.clone())
                .https_or_http()
                .enable_all_versions()
                .wrap_connector(http);
            legacy::Client::builder(TokioExecutor::new())
                .timer(TokioTimer::new())
                .pool_timer(TokioTimer::new())
                .pool_idle_timeout(IDLE)
                .pool_max_idle_per_host(max_idle)
                .http2_keep_alive_interval(PING)
                .build(https)
        };
        Ok(Self {
            public: client(false),
            private: client(true),
        })
    }

    /// The client of an endpoint.
    pub fn of(&self, allow_private: bool) -> &Client {
        if allow_private {
            &self.private
        } else {
            &self.public
        }
    }
}

/// What went wrong. Of an address that is refused only that.
pub fn told(error: &(dyn std::error::Error + 'static)) -> String {
    if let Some(refused) = Refused::behind(error) {
        return refused.to_string();
    }
    with_causes(error)
}

fn tls() -> Result<ClientConfig, Error> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        tracing::warn!("this system has no root certificates: requests to https:// will fail");
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::Usage(format!("TLS cannot be used: {error}")))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

// ---- Where connections go -------------------------------------------------------------------------

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Connects to vetted addresses only: a connector asks no resolver about a host that is an address.
#[derive(Clone)]
pub struct Guarded {
    allow_private: bool,
    http: HttpConnector<Vetted>,
}

impl Guarded {
    fn new(allow_private: bool, lookup: Lookup, connect: Duration) -> Self {
        let mut http = HttpConnector::new_with_resolver(Vetted::new(allow_private, lookup));
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_keepalive(Some(KEEPALIVE));
        http.set_connect_timeout(Some(connect));
        Self {
            allow_private,
            http,
        }
    }
}

impl Service<Uri> for Guarded {
    type Response = TokioIo<TcpStream>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.http.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let allow_private = self.allow_private;
        let host = uri.host().unwrap_or_default().to_owned();
        if let Some(address) = literal(&host)
            && let Err(refused) = resolve::vet(&host, address, allow_private)
        {
            return Box::pin(async move { Err(refused.into()) });
        }
        let connecting = self.http.call(uri);
        Box::pin(async move {
            let connected = connecting.await?;
            // Nothing has been sent yet.
            let stream = connected.inner();
            let ends = (stream.local_addr()?.ip(), stream.peer_addr()?.ip());
            vet_ends(&host, ends, allow_private)?;
            Ok(connected)
        })
    }
}

/// A global address that is this machine's own reaches what a firewall hides from others: packets to it never pass one.
fn vet_ends(host: &str, (own, peer): (IpAddr, IpAddr), allow_private: bool) -> Result<(), Refused> {
    resolve::vet(host, peer, allow_private)?;
    if own == peer && !allow_private {
        return Err(Refused {
            host: host.to_owned(),
            address: peer,
            reason: "an address of this machine",
        });
    }
    Ok(())
}

fn literal(host: &str) -> Option<IpAddr> {
    let bare = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    bare.unwrap_or(host).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_connection_are_looked_at() {
        for (own, peer, usually, with_private) in [
            ("192.168.1.2", "1.1.1.1", true, true),
            ("8.8.8.8", "1.1.1.1", true, true),
            ("8.8.8.8", "8.8.8.8", false, true),
            ("2606:4700::1", "2606:4700::1", false, true),
            ("10.0.0.1", "10.0.0.1", false, true),
            ("10.0.0.1", "10.0.0.2", false, true),
            ("169.254.0.1", "169.254.169.254", false, false),
        ] {
            let ends = (own.parse().unwrap(), peer.parse().unwrap());
            assert_eq!(vet_ends("h", ends, false).is_ok(), usually, "{own} {peer}");
            assert_eq!(
                vet_ends("h", ends, true).is_ok(),
                with_private,
                "{own} {peer}"
            );
        }
    }
}
