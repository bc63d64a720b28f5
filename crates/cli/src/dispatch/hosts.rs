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
    /// So many failures have been enough, and are reported again only after as many more.
    reported_at: u32,
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
                host.failures = 0;
                let began = std::mem::take(&mut host.reported_at) > 0;
                (began || endpoint.on_trial).then_some(Report::Works)
            }
            Sign::Fails => {
                host.failures = host.failures.saturating_add(1);
                host.begins_trial(endpoint).then_some(Report::Failing)
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
    /// Others of the host may want more failures, or none, and the trial may have been ended meanwhile.
    fn begins_trial(&mut self, endpoint: &Row) -> bool {
        let enough = endpoint.trial_after;
        let is_enough = enough > 0
            && self.failures >= enough
            && self.failures >= self.reported_at.saturating_add(enough);
        let begins = is_enough && !endpoint.on_trial;
        if begins {
            self.reported_at = self.failures;
        }
        begins
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(trial_after: u32, on_trial: bool) -> Row {
        Row {
            concurrency_key: Some("host:a".into()),
            trial_after,
            on_trial,
            ..Row::example()
        }
    }

    #[test]
    fn a_trial_begins_after_enough_failures_in_a_row() {
        let hosts = Hosts::default();
        let (three, never) = (endpoint(3, false), endpoint(0, false));
        let mut reports = Vec::new();
        for failure in 1..=9 {
            let of = if failure % 3 == 0 { &never } else { &three };
            if hosts.note(of, Sign::Fails).is_some() {
                reports.push(failure);
            }
        }
        assert_eq!(reports, [4, 7]);
        assert_eq!(hosts.note(&endpoint(3, true), Sign::Fails), None);
        assert_eq!(hosts.note(&three, Sign::Works), Some(Report::Works));
        assert_eq!(hosts.note(&three, Sign::Works), None);
        assert_eq!(
            hosts.note(&endpoint(3, true), Sign::Works),
            Some(Report::Works)
        );
    }

    #[test]
    fn one_report_is_under_way_at_a_time_and_none_of_what_is_known() {
        let hosts = Hosts::default();
        let (endpoint, busy) = (endpoint(5, false), Report::Busy(Duration::from_secs(60)));
        let turn = hosts.turn(&endpoint, busy).unwrap();
        assert!(hosts.turn(&endpoint, Report::Gone).is_none());
        drop(turn);
        let turn = hosts.turn(&endpoint, busy).unwrap();
        turn.was_told();
        drop(turn);
        assert!(hosts.turn(&endpoint, busy).is_none());
        let longer = Report::Busy(Duration::from_secs(70));
        assert!(hosts.turn(&endpoint, longer).is_some());
    }
}
