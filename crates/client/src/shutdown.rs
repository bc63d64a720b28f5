//! How a worker is told to stop.

#[cfg(unix)]
use crate::{error::Result, signals::Signals};
use tokio_util::sync::CancellationToken;

/// Stops workers, in two steps. Clones stop the same ones.
#[derive(Clone, Default, Debug)]
pub struct Shutdown {
    drain: CancellationToken,
    now: CancellationToken,
}

impl Shutdown {
    /// Nothing asks for it yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// [`Signals`] ask for it: the first one drains, another one ends runs at once.
    #[cfg(unix)]
    pub fn on_signals() -> Result<Self> {
        let mut signals = Signals::new()?;
        let shutdown = Self::new();
        let asked = shutdown.clone();
        tokio::spawn(async move {
            loop {
                signals.next().await;
                asked.ask();
            }
        });
        Ok(shutdown)
    }

    /// No further job is claimed. Runs go on for as long as the worker lets them drain.
    pub fn drain(&self) {
        self.drain.cancel();
    }

    /// Runs are told to stop at once.
    pub fn stop_now(&self) {
        self.drain.cancel();
        self.now.cancel();
    }

    /// The next step.
    fn ask(&self) {
        if self.drain.is_cancelled() {
            tracing::info!("stops now");
            self.stop_now();
        } else {
            tracing::info!("drains: claims no further job");
            self.drain();
        }
    }

    pub(crate) async fn drains(&self) {
        self.drain.cancelled().await;
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.drain.is_cancelled()
    }

    pub(crate) async fn stops(&self) {
        self.now.cancelled().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_request_drains_and_the_second_stops() {
        let shutdown = Shutdown::new();
        shutdown.ask();
        shutdown.drains().await;
        assert!(!shutdown.now.is_cancelled());
        shutdown.ask();
        shutdown.stops().await;
    }
}
