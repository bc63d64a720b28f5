//! The names of queues by their keys: memory has the keys, and statements need the names.

use crate::job::lane::{EVERY_QUEUE, queue_key};
use crate::pg::error::Result;
use crate::pg::spi::{Spi, Statement, statement};
use std::cell::RefCell;
use std::collections::HashMap;

/// When the first job of each queue that was put off falls due: (queue, run_at).
pub static FIRST_DUE: Statement = statement!("first_due", []);

/// The most names that a backend remembers.
const MOST: usize = 100_000;

thread_local! {
    static NAMES: RefCell<HashMap<u64, Box<str>>> = RefCell::default();
}

/// Remembers the name of a queue.
pub fn note(key: u64, name: &str) {
    NAMES.with_borrow_mut(|names| {
        if names.contains_key(&key) {
            return;
        }
        if names.len() >= MOST {
            names.clear();
        }
        names.insert(key, name.into());
    });
}

/// Passes on the name of a queue if this backend remembers it.
pub fn with_name(key: u64, use_it: impl FnOnce(&str)) {
    NAMES.with_borrow(|names| names.get(&key).map(|name| use_it(name)));
}

/// The name of a queue that this backend remembers; `*` for all queues and for one that it does not.
pub fn known(key: u64) -> String {
    remembered(key).unwrap_or_else(|| EVERY_QUEUE.to_owned())
}

fn remembered(key: u64) -> Option<String> {
    NAMES.with_borrow(|names| names.get(&key).map(|name| name.as_ref().into()))
}

/// The name of a queue that has jobs which were put off; none if it has none.
pub fn name(spi: &Spi, key: u64) -> Result<Option<String>> {
    let known = remembered(key);
    if known.is_some() {
        return Ok(known);
    }
    let mut found = first_due(spi)?.into_iter();
    Ok(found
        .find(|first| first.queue == key)
        .map(|first| first.name))
}

/// The earliest time of a queue in the tables.
pub struct FirstTime {
    pub queue: u64,
    pub name: String,
    pub time: i64,
}

/// When the first job of each queue that was put off falls due.
pub fn first_due(spi: &Spi) -> Result<Vec<FirstTime>> {
    let rows = spi.run(&FIRST_DUE, &[])?;
    (0..rows.len())
        .map(|row| {
            let name: String = rows.required(row, 1)?;
            let queue = queue_key(&name);
            note(queue, &name);
            let time = rows.required(row, 2)?;
            Ok(FirstTime { queue, name, time })
        })
        .collect()
}
