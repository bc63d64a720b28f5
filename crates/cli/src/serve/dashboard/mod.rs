//! The dashboard: pages made by the server, live parts by server-sent events, and levers.
//!
//! `logins` says who asks and `identity` as whom the server is asked; `readings` asks it, once a second for all. A `view` is one request, and
//! `shared` what all have together. `data` is what statements give, `html` what pages are made of, `series` the figures of the last hour.
//! `routes` is the table of all pages (`pages`) and levers (`levers`), `handle` runs them, `document` and `answers` put around them what all
//! have, and `guard` keeps other sites out.

mod answers;
mod assets;
mod capabilities;
mod changes;
mod content;
mod data;
mod document;
mod drawings;
mod fields;
mod filter;
mod guard;
mod handle;
mod html;
mod identity;
mod levers;
mod links;
mod live;
mod logins;
mod metrics;
mod options;
mod pages;
mod places;
mod readings;
pub mod routes;
mod seen;
mod series;
mod shared;
mod value;
mod view;

use std::sync::Arc;

use axum::Router;
use axum::http::HeaderName;
use axum::http::header::{AUTHORIZATION, COOKIE, HOST, ORIGIN, REFERER, USER_AGENT};
use tokio::sync::watch;

use super::asked::{self, Asked};
use crate::connection::Settings;
use crate::error::Error;
pub use logins::Mode;
pub use options::Options;
use shared::Shared;

#[derive(Clone)]
pub struct Dashboard(Arc<Shared>);

impl Dashboard {
    pub fn new(
        options: Options,
        mode: Mode,
        settings: Settings,
        ends: watch::Receiver<Asked>,
    ) -> Result<Self, Error> {
        let shared = Shared::new(options, mode, settings, ends)?;
        Ok(Self(Arc::new(shared)))
    }

    /// `others`: what answers what is not of the dashboard.
    pub fn router(self, others: Router) -> Router {
        handle::router(self.0, others)
    }

    /// Reads figures for the charts, until this program is to end.
    pub async fn sample(self) {
        let own = self.0.logins.own();
        tokio::select! {
            () = self.0.series.sample(&own) => {}
            () = asked::until(self.0.ends.clone(), Asked::Once) => {}
        }
    }
}

/// The header of a proxy that names the role.
pub fn header(text: &str) -> Result<HeaderName, String> {
    let name: HeaderName = text
        .parse()
        .map_err(|_| "it is not the name of a header".to_owned())?;
    // Browsers send these by themselves.
    if [HOST, AUTHORIZATION, ORIGIN, REFERER, USER_AGENT, COOKIE].contains(&name) {
        return Err("it is a header of the client's own".to_owned());
    }
    Ok(name)
}
