//! Failures in a row, by the key of the host. From some number of them on its gate lets one job run at a time, over all dispatchers,
//! until one succeeds. What is counted here only decides when that begins.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::endpoint::Row;
use super::verdict::{Report, Sign};

/// A pause that ends no more than so much later than one that was reported is the same.
const THE_SAME: Duration = Duration::from_secs(1);

#[derive(Default)]
struct Host {
    failures: u32,
    paused_until: Option<Instant>,
    is_reported: bool,
}

#[derive(Default)]
pub struct Hosts(Mutex<HashMap<String, Host>>);

/// The right to report on a host, until it is dropped.
pub struct Turn<'a> {
    hosts: &'a Hosts,
    name: String,
    report: Report,
}

impl Hosts {
    /// What is to be reported, now that the host has given this sign.
    pub fn note(&self, endpoint: &Row, sign: Sign) -> Option<Report> {
        endpoint.concurrency_key.as_ref()?;
        let mut hosts = self.lock();
        let host = hosts.entry(name(endpoint).to_owned()).or_default();
        match sign {
            Sign::Nothing => None,
            Sign::Works => {
                let before = std::mem::take(&mut host.failures);
                let began = endpoint.trial_after > 0 && before >= endpoint.trial_after;
                (began || endpoint.on_trial).then_some(Report::Works)
            }
            Sign::Fails => {
                host.failures = host.failures.saturating_add(1);
                begins_trial(host.failures, endpoint.trial_after).then_some(Report::Failing)
            }
        }
    }

    /// None: another report on the host is under way, the server knows, or has no use for it.
    pub fn turn(&self, endpoint: &Row, report: Report) -> Option<Turn<'_>> {
        if endpoint.concurrency_key.is_none() && report != Report::Gone {
            return None;
        }
        let mut hosts = self.lock();
        let host = hosts.entry(name(endpoint).to_owned()).or_default();
        if host.is_reported || host.knows(report) {
            return None;
        }
        host.is_reported = true;
        Some(Turn {
            hosts: self,
            name: name(endpoint).to_owned(),
            report,
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Host>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Host {
    fn knows(&self, report: Report) -> bool {
        match (report, self.paused_until) {
            (Report::Busy(pause), Some(until)) => Instant::now() + pause <= until + THE_SAME,
            _ => false,
        }
    }
}

impl Turn<'_> {
    pub fn was_told(&self) {
        if let Report::Busy(pause) = self.report
            && let Some(host) = self.hosts.lock().get_mut(&self.name)
        {
            host.paused_until = Some(Instant::now() + pause);
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Some(host) = self.hosts.lock().get_mut(&self.name) {
            host.is_reported = false;
        }
    }
}

/// Those of an endpoint without a key are its own.
fn name(endpoint: &Row) -> &str {
    endpoint.concurrency_key.as_deref().unwrap_or(&endpoint.url)
}

/// At the first time that is enough, and again each time that the failures have doubled: another may have ended the trial.
fn begins_trial(failures: u32, enough: u32) -> bool {
    enough > 0
        && failures.is_multiple_of(enough)
        && failures
            .checked_div(enough)
            .is_some_and(u32::is_power_of_two)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_begins_after_enough_failures_in_a_row() {
        let begins: Vec<_> = (1..=50).filter(|&count| begins_trial(count, 5)).collect();
        assert_eq!(begins, [5, 10, 20, 40]);
        assert!((1..=50).all(|count| !begins_trial(count, 0)));
    }
}
