//! What is open, where and to whom: nothing without a login outside of this machine, and no password without TLS.

use std::net::SocketAddr;
use std::path::PathBuf;

use axum::Router;
use axum::extract::Request;
use axum::http::HeaderName;
use axum::http::uri::PathAndQuery;
use axum::response::{IntoResponse, Redirect, Response};
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;

use super::dashboard::{self, Dashboard, Mode, Options};
use crate::error::Error;
use crate::listener;

#[derive(clap::Args)]
#[group(id = "doors")]
#[command(next_help_heading = "Dashboard")]
pub struct Args {
    /// Let viewers change what their roles may change
    #[arg(long)]
    allow_writes: bool,
    /// Have viewers log in as roles of the database, with their passwords
    #[arg(long, conflicts_with = "role_header")]
    basic: bool,
    /// The header in which a proxy that everybody comes through says who a viewer is: a role that this program is a member of
    #[arg(long, value_name = "HEADER", value_parser = dashboard::header)]
    role_header: Option<HeaderName>,
    /// Another name under which browsers may ask for pages that need no login
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,
    /// The path that all paths begin with
    #[arg(long, value_name = "PATH", default_value = "/", value_parser = base)]
    base_path: String,
    /// The certificate of --listen and those above it, as PEM
    #[arg(long, value_name = "FILE", requires = "key")]
    certificate: Option<PathBuf>,
    /// The key of the certificate, as PEM
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// Show the dashboard beside --tokens to all who reach --listen, without a login
    #[arg(long)]
    dashboard: bool,
}

/// As the arguments have it.
pub struct Doors {
    pub dashboard: Option<(Options, Mode)>,
    pub tls: Option<TlsAcceptor>,
    pub base: String,
    /// What is listened for.
    pub said: &'static str,
}

impl Doors {
    pub fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }
}

impl Args {
    pub fn open(self, listen: SocketAddr, takes_jobs: bool) -> Result<Doors, Error> {
        let tls = match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => Some(listener::acceptor(certificate, key)?),
            _ => None,
        };
        let base = self.base_path.clone();
        let dashboard = match self.mode(listen, tls.is_some(), takes_jobs)? {
            Some(mode) => Some((
                Options {
                    base: base.clone(),
                    allow_writes: self.allow_writes,
                    hosts: self.hosts,
                },
                mode,
            )),
            None => None,
        };
        let said = match (&dashboard, takes_jobs) {
            (Some(_), true) => "viewers and jobs",
            (Some(_), false) => "viewers",
            (None, _) => "jobs",
        };
        Ok(Doors {
            dashboard,
            said,
            tls,
            base,
        })
    }

    fn mode(
        &self,
        listen: SocketAddr,
        has_tls: bool,
        takes_jobs: bool,
    ) -> Result<Option<Mode>, Error> {
        let is_local = listen.ip().is_loopback();
        if self.basic && !is_local && !has_tls {
            return Err(Error::Usage(format!(
                "--basic at {listen} needs TLS (--certificate and --key): anybody on the way could read the passwords"
            )));
        }
        if self.basic {
            return Ok(Some(Mode::Basic));
        }
        if let Some(name) = &self.role_header {
            return Ok(Some(Mode::Header(name.clone())));
        }
        // Who takes jobs is often behind a proxy that leads all the world to this address.
        if takes_jobs && !self.dashboard {
            return self.without();
        }
        if is_local {
            return Ok(Some(Mode::Own));
        }
        Err(Error::Usage(format!(
            "at {listen} others than the users of this machine can reach the dashboard: it needs --basic or --role-header"
        )))
    }

    fn without(&self) -> Result<Option<Mode>, Error> {
        if self.allow_writes || !self.hosts.is_empty() {
            return Err(Error::Usage(
                "with --tokens there is a dashboard only with --dashboard, --basic or --role-header"
                    .to_owned(),
            ));
        }
        Ok(None)
    }
}

/// `jobs`: jobs by HTTP, and what machines ask.
pub fn router(jobs: Router, dashboard: Option<Dashboard>, base: &str) -> Router {
    let all = match dashboard {
        Some(dashboard) => dashboard.router(jobs),
        None => jobs,
    };
    if base.is_empty() {
        return all;
    }
    let base = base.to_owned();
    Router::new().fallback(move |request| below(base.clone(), all.clone(), request))
}

/// A router that is nested would know its first page without a slash behind it alone.
async fn below(base: String, all: Router, mut request: Request) -> Response {
    let place = request.uri().path_and_query().map(PathAndQuery::as_str);
    let rest = place.and_then(|place| place.strip_prefix(&base));
    match rest {
        Some(rest) if rest.is_empty() || rest.starts_with('?') => {
            Redirect::permanent(&format!("{base}/{rest}")).into_response()
        }
        Some(rest) if rest.starts_with('/') => {
            let Ok(uri) = rest.parse() else {
                return listener::not_found().await.into_response();
            };
            *request.uri_mut() = uri;
            let Ok(answer) = all.oneshot(request).await;
            answer
        }
        _ => listener::not_found().await.into_response(),
    }
}

/// With a slash before it and none behind it; empty for the root.
fn base(text: &str) -> Result<String, String> {
    let base = text.trim_end_matches('/');
    let is_plain = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte))
            && part.bytes().any(|byte| byte != b'.')
    };
    match base.strip_prefix('/') {
        None if base.is_empty() => Ok(String::new()),
        Some(parts) if parts.split('/').all(is_plain) => Ok(base.to_owned()),
        _ => Err("a path is needed such as /queue".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_is_a_plain_path() {
        for (text, expected) in [("/", ""), ("", ""), ("/q", "/q"), ("/a/b.c/", "/a/b.c")] {
            assert_eq!(base(text).unwrap(), expected, "{text}");
        }
        for text in ["q", "/a//b", "/{a}", "/a b", "/..", "/a/../b", "/é", "/a?b"] {
            assert!(base(text).is_err(), "{text}");
        }
    }
}
