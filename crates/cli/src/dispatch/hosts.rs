//! Failures in a row, by the key of the host. From some number of them on its gate lets one job run at a time, over all dispatchers,
//! until one succeeds. What is counted here only decides when that begins.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::endpoint::Row;
use super::verdict::{Report, Sign};

#[derive(Default)]
pub struct Hosts(Mutex<HashMap<String, u32>>);

impl Hosts {
    /// What is to be reported, now that the host has given this sign.
    pub fn note(&self, endpoint: &Row, sign: Sign) -> Option<Report> {
        let key = endpoint.concurrency_key.as_deref()?;
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match sign {
            Sign::Nothing => None,
            Sign::Works => {
                let before = failures.remove(key).unwrap_or(0);
                let began = endpoint.trial_after > 0 && before >= endpoint.trial_after;
                (began || endpoint.on_trial).then_some(Report::Works)
            }
            Sign::Fails => {
                let count = failures.entry(key.to_owned()).or_default();
                *count = count.saturating_add(1);
                begins_trial(*count, endpoint.trial_after).then_some(Report::Failing)
            }
        }
    }
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
