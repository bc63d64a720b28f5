//! How often each situation came up.

use std::collections::BTreeMap;

#[derive(Default)]
pub struct Tally(BTreeMap<&'static str, u64>);

impl Tally {
    pub fn count(&mut self, situation: &'static str) {
        *self.0.entry(situation).or_default() += 1;
    }

    pub fn add(&mut self, other: &Tally) {
        for (situation, count) in &other.0 {
            *self.0.entry(situation).or_default() += count;
        }
    }

    pub fn of(&self, situation: &str) -> u64 {
        self.0.get(situation).copied().unwrap_or(0)
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (situation, count) in &self.0 {
            writeln!(f, "{count:>9}  {situation}")?;
        }
        Ok(())
    }
}
