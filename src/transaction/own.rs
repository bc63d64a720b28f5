//! Claims of what the open transaction has made available itself (`claim_own`): of this transaction alone, so memory never hears of
//! them.

use rustc_hash::FxHashMap;
use std::hash::Hash;

/// A job that such claims have started, or whose batch they have opened.
#[derive(Clone, Copy, Default, PartialEq)]
pub struct Begun {
    pub attempt: i32,
    /// It runs, or waits for its children.
    pub is_open: bool,
}

/// What such claims have done at one level of savepoints.
#[derive(Default, PartialEq)]
pub struct Own {
    /// Whether the transaction claims so: then it claims in no other way.
    pub is_used: bool,
    /// Such a claim is changing jobs.
    pub is_claiming: bool,
    /// By id. What an inner level says counts.
    pub begun: FxHashMap<i64, Begun>,
    /// Positions by lane at which the job was looked at, and how often: a job of a session comes back to its place.
    pub passed: FxHashMap<(u64, i64), u32>,
    /// Jobs after which others were looked at, and how often.
    pub followed: FxHashMap<i64, u32>,
}

impl Own {
    pub fn absorb(&mut self, inner: Self) {
        let Self {
            is_used,
            is_claiming,
            begun,
            passed,
            followed,
        } = inner;
        self.is_used |= is_used;
        self.is_claiming |= is_claiming;
        self.begun.extend(begun);
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
