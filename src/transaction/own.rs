//! Claims of what the open transaction has made available itself (`claim_own`): of this transaction alone, so memory never hears of
//! them.

use rustc_hash::{FxHashMap, FxHashSet};
use std::hash::Hash;

/// What such claims have done at one level of savepoints.
#[derive(Default, PartialEq)]
pub struct Own {
    /// Whether the transaction claims so: then it claims in no other way.
    pub is_used: bool,
    /// Runs (id, attempt) that were started.
    pub runs: FxHashSet<(i64, i32)>,
    /// Those of them that do not run any more.
    pub ended: FxHashSet<(i64, i32)>,
    /// Positions by lane at which the job was looked at, and how often: a job of a session comes back to its place.
    pub passed: FxHashMap<(u64, i64), u32>,
    /// Jobs after which others were looked at, and how often.
    pub followed: FxHashMap<i64, u32>,
}

impl Own {
    pub fn absorb(&mut self, inner: Self) {
        let Self {
            is_used,
            runs,
            ended,
            passed,
            followed,
        } = inner;
        self.is_used |= is_used;
        self.runs.extend(runs);
        self.ended.extend(ended);
        add(&mut self.passed, passed);
        add(&mut self.followed, followed);
    }
}

pub fn add<K: Eq + Hash>(counts: &mut FxHashMap<K, u32>, more: impl IntoIterator<Item = (K, u32)>) {
    for (key, times) in more {
        *counts.entry(key).or_default() += times;
    }
}

/// What is there more often than it is counted.
pub fn beyond<T, K: Eq + Hash>(
    all: impl Iterator<Item = T>,
    mut counts: FxHashMap<K, u32>,
    key: impl Fn(&T) -> K,
) -> Vec<T> {
    let is_beyond = |each: &T| match counts.get_mut(&key(each)) {
        Some(times) if *times > 0 => {
            *times -= 1;
            false
        }
        _ => true,
    };
    all.filter(is_beyond).collect()
}
