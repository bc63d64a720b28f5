//! A request for a page or a lever: who asks, what it may do, and what it asks for.

use std::sync::Arc;
use std::time::Duration;

use axum::http::request::Parts;
use axum::http::{StatusCode, Uri};
use serde::de::{DeserializeOwned, IgnoredAny};

use super::capabilities::Capabilities;
use super::identity::Access;
use super::links::Link;
use super::readings::{self, Rows};
use super::shared::Shared;
use super::value::Value;
use crate::listener::{self, Problem};

/// Parameters that are not of the page itself: what the last lever said (`levers`), and what of the page is known (`seen`).
const OF_NO_PAGE: [&str; 2] = ["done", "seen"];

#[derive(Clone)]
pub struct View {
    pub shared: Arc<Shared>,
    pub access: Access,
    pub can: Arc<Capabilities>,
    uri: Uri,
    /// How long a statement may take, where that is less than others may.
    limit: Option<Duration>,
}

impl View {
    /// Who asks, with what it may do.
    pub async fn of(shared: &Arc<Shared>, parts: &Parts) -> Result<Self, Problem> {
        let access = shared.logins.of(&parts.headers).await?;
        let can = Capabilities::of(&shared.readings, &access)
            .await
            .inspect_err(|problem| {
                if problem.status() == StatusCode::UNAUTHORIZED {
                    shared.logins.forget(access.identity());
                }
            })?;
        Ok(Self {
            shared: Arc::clone(shared),
            access,
            can,
            uri: parts.uri.clone(),
            limit: None,
        })
    }

    /// Without the extension nothing is refused for want of a right.
    pub fn missing_extension(&self) -> Option<Problem> {
        if self.can.version.is_some() {
            return None;
        }
        let text = format!(
            "The database {} does not have the extension turnstile.",
            self.can.database
        );
        Some(Problem::unavailable(text))
    }

    /// For a look that has another way: its statements end sooner, and one that did not end in time is not repeated for a while.
    pub fn within(&self, limit: Duration) -> Self {
        Self {
            limit: Some(limit),
            ..self.clone()
        }
    }

    /// What a statement gives, at most a second old.
    pub async fn rows<T: DeserializeOwned>(
        &self,
        sql: &'static str,
        arguments: &[Value],
    ) -> Result<Vec<T>, Problem> {
        let readings = &self.shared.readings;
        parsed(
            &readings
                .rows(&self.access, sql, arguments, self.limit)
                .await?,
        )
    }

    pub async fn row<T: DeserializeOwned>(
        &self,
        sql: &'static str,
        arguments: &[Value],
    ) -> Result<Option<T>, Problem> {
        Ok(self.rows(sql, arguments).await?.into_iter().next())
    }

    /// Runs a statement that changes something. What was read before is asked for anew.
    pub async fn run<T: DeserializeOwned>(
        &self,
        sql: &'static str,
        arguments: &[Value],
    ) -> Result<Vec<T>, Problem> {
        let rows = readings::ask(&self.access, sql, arguments).await?;
        self.shared.readings.forget();
        parsed(&rows)
    }

    /// The same for one that gives nothing to know.
    pub async fn change(&self, sql: &'static str, arguments: &[Value]) -> Result<(), Problem> {
        self.run::<IgnoredAny>(sql, arguments).await.map(drop)
    }

    /// The parameters of the URL; those that are not known are left alone.
    pub fn query<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        listener::parameters(&self.uri)
    }

    /// Of the page itself.
    pub fn address(&self) -> String {
        let pairs = url::form_urlencoded::parse(self.uri.query().unwrap_or_default().as_bytes());
        let link = Link::new(self.base(), self.uri.path());
        pairs
            .filter(|(name, _)| !OF_NO_PAGE.contains(&name.as_ref()))
            .fold(link, |link, (name, value)| link.with(&name, &value))
            .text()
    }

    pub fn link(&self, path: &str) -> Link {
        Link::new(self.base(), path)
    }

    /// Seconds since 1970, by the clock of the server, at most a second old.
    pub fn now(&self) -> f64 {
        self.can.now
    }

    pub fn base(&self) -> &str {
        &self.shared.options.base
    }

    pub fn writes(&self) -> bool {
        self.shared.options.allow_writes
    }

    /// Whether to offer a lever. The server decides again when it is used. A standby takes no changes.
    pub fn may(&self, function: &str) -> bool {
        self.writes() && self.can.calls(function) && !self.can.in_recovery
    }
}

fn parsed<T: DeserializeOwned>(rows: &Rows) -> Result<Vec<T>, Problem> {
    rows.iter()
        .map(|text| serde_json::from_str(text))
        .collect::<Result<_, _>>()
        .map_err(|error| {
            tracing::error!(%error, "an answer of the server is not understood");
            Problem::of_another_version()
        })
}
