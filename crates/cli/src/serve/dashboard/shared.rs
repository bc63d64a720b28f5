//! What all requests for the dashboard share.

use std::sync::Arc;

use tokio::sync::watch;

use super::changes::Changes;
use super::drawings::Drawings;
use super::logins::{Logins, Mode};
use super::options::Options;
use super::places::Places;
use super::readings::Readings;
use super::series::Series;
use crate::connection::Settings;
use crate::error::Error;
use crate::serve::asked::Asked;

pub struct Shared {
    pub options: Options,
    pub logins: Logins,
    pub readings: Arc<Readings>,
    pub series: Series,
    pub changes: Arc<Changes>,
    pub live: Places,
    pub drawings: Drawings,
    pub ends: watch::Receiver<Asked>,
}

impl Shared {
    pub fn new(
        options: Options,
        mode: Mode,
        settings: Settings,
        ends: watch::Receiver<Asked>,
    ) -> Result<Self, Error> {
        let readings = Arc::new(Readings::default());
        Ok(Self {
            options,
            logins: Logins::new(mode, settings)?,
            changes: Arc::new(Changes::new(Arc::clone(&readings), ends.clone())),
            readings,
            series: Series::default(),
            live: Places::default(),
            drawings: Drawings::default(),
            ends,
        })
    }
}
