//! The dashboard: pages made by the server, live parts by server-sent events, and levers.
//!
//! `logins` says who asks and `identity` as whom the server is asked; `readings` asks it, once a second for all. `routes` is the table of all
//! pages (`pages`) and levers (`levers`), `handle` runs them, `guard` keeps other sites out. `data` is what statements give, `html` what pages
//! are made of, `series` the figures of the last hour.

mod assets;
mod capabilities;
mod changes;
mod data;
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
mod pages;
mod readings;
pub mod routes;
mod seen;
mod series;
mod value;
mod view;

use std::sync::Arc;

use axum::Router;
use axum::http::HeaderName;
use axum::http::header::{AUTHORIZATION, COOKIE, HOST, ORIGIN, REFERER, USER_AGENT};
use tokio::sync::watch;

use super::Asked;
use crate::connection::Settings;
use crate::error::Error;
use changes::Changes;
use drawings::Drawings;
use logins::Logins;
pub use logins::Mode;
use readings::Readings;
use series::Series;

#[derive(Clone)]
pub struct Dashboard(Arc<Shared>);

struct Shared {
    options: Options,
    logins: Logins,
    readings: Readings,
    series: Series,
    changes: Changes,
    live: live::Places,
    drawings: Drawings,
    ends: watch::Receiver<Asked>,
}

pub struct Options {
    /// Without the slash at its end.
    pub base: String,
    pub allow_writes: bool,
    /// Names besides those of this machine under which browsers may reach pages that ask for no login.
    pub hosts: Vec<String>,
}

impl Dashboard {
    pub fn new(
        options: Options,
        mode: Mode,
        settings: Settings,
        ends: watch::Receiver<Asked>,
    ) -> Result<Self, Error> {
        Ok(Self(Arc::new(Shared {
            options,
            logins: Logins::new(mode, settings)?,
            readings: Readings::default(),
            series: Series::default(),
            changes: Changes::default(),
            live: live::Places::default(),
            drawings: Drawings::default(),
            ends,
        })))
    }

    /// `others`: what answers what is not of the dashboard.
    pub fn router(self, others: Router) -> Router {
        handle::router(self, others)
    }

    /// Reads figures for the charts, until this program is to end.
    pub async fn sample(self) {
        let mut ends = self.0.ends.clone();
        tokio::select! {
            () = self.0.series.sample(&self) => {}
            _ = ends.wait_for(|asked| *asked != Asked::Never) => {}
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
