//! The signals that ask a program to end.

use crate::error::{Error, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGTERM, SIGINT and SIGHUP.
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    /// None: it asks for nothing.
    hang_up: Option<Signal>,
}

impl Signals {
    /// From now on they do not end the program by themselves. Where SIGHUP is ignored, as `nohup` has it, it stays so.
    pub fn new() -> Result<Self> {
        let listen = |kind| signal(kind).map_err(Error::Signals);
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hang_up: match heeds_hang_up() {
                true => Some(listen(SignalKind::hangup())?),
                false => None,
            },
        })
    }

    /// The next request to end. SIGHUP is one only where it is the first: both the terminal and its shell may send it.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            () = hung_up(&mut self.hang_up) => {}
        }
        self.hang_up = None;
    }
}

async fn hung_up(hang_up: &mut Option<Signal>) {
    match hang_up {
        Some(signal) => _ = signal.recv().await,
        None => std::future::pending().await,
    }
}

/// Where the system does not tell, SIGHUP is left as it is.
fn heeds_hang_up() -> bool {
    std::fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|status| ignored(&status))
        .is_some_and(|signals| signals & 1 == 0)
}

/// The signals that the process ignores; the lowest bit is SIGHUP.
fn ignored(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_tells_which_signals_are_ignored() {
        let status = "Name:\tnohup\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\n";
        assert_eq!(ignored(status), Some(0x1001));
        assert_eq!(ignored("Name:\tx\n"), None);
    }
}
