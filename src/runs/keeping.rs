//! Whether a job that completes leaves a row in the history: not where its queue keeps no completed jobs (`keep_completed` of 0),
//! unless others have to know how it ended.
//!
//! A job that comes after another learns of that by the mark `has_followers` on the other. Usually the mark is made once both are
//! committed, and until then the follower finds the end in the history. So where there will be none, the mark is made with the
//! follower. That only holds from when the setting is known to all: a backend begins to rely on it when no transaction is open
//! that may have added followers before, and none is left without its mark.

use crate::job::column;
use crate::job::lane::queue_key;
use crate::job::queue_settings::{self, Version};
use crate::job::state::End;
use crate::pg::call::datum;
use crate::pg::error::Result;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::spi::{Spi, Statement, statement, with_spi};
use crate::pg::tuple::RawRow;
use crate::pg::{catalog, locks};
use pgrx::pg_sys::Oid;
use rustc_hash::FxHashSet;
use std::cell::RefCell;

static UNTOLD: Statement = statement!("untold_followers", [TEXTOID]);
static QUEUES: Statement = statement!("queues_of_jobs", [INT8ARRAYOID]);

/// The most queues that a backend remembers.
const MOST: usize = 1_000;

thread_local! {
    /// Queues that keep no completed jobs, which others know by now.
    static RELIED_ON: RefCell<(Version, FxHashSet<u64>)> =
        RefCell::new(((Oid::INVALID, 0), FxHashSet::default()));
}

/// What one command was told.
#[derive(Default)]
pub struct Asked {
    last: Option<(u64, bool)>,
}

impl Asked {
    /// Whether a job of this queue that ends so leaves a row in the history. All its columns can be read.
    pub fn leaves_row(&mut self, job: &RawRow, queue: u64, end: End) -> Result<bool> {
        if end != End::Completed || !self.keeps_none(job, queue)? {
            return Ok(true);
        }
        Ok(job.is_needed_when_completed() && !armed(Seeded::LeaveNobodyAnything))
    }

    fn keeps_none(&mut self, job: &RawRow, queue: u64) -> Result<bool> {
        match self.last {
            Some((known, keeps_none)) if known == queue => Ok(keeps_none),
            _ => {
                let found = keeps_none(job.text(column::QUEUE).unwrap_or_default())?;
                self.last = Some((queue, found));
                Ok(found)
            }
        }
    }
}

/// Those of the queues of these jobs that keep no completed ones.
pub fn queues_that_keep_none(spi: &Spi, jobs: Vec<i64>) -> Result<Vec<String>> {
    let mut found = Vec::new();
    if jobs.is_empty() {
        return Ok(found);
    }
    let rows = spi.run(&QUEUES, &[datum(jobs)])?;
    for row in 0..rows.len() {
        let queue: String = rows.required(row, 1)?;
        if keeps_none(&queue)? {
            found.push(queue);
        }
    }
    Ok(found)
}

fn keeps_none(queue: &str) -> Result<bool> {
    // What this transaction has set is not known to others yet.
    let Some(version) = queue_settings::version()? else {
        return Ok(false);
    };
    let key = queue_key(queue);
    if !queue_settings::of_queue(key)?.keeps_no_completed {
        return Ok(false);
    }
    if RELIED_ON.with_borrow(|(of, queues)| *of == version && queues.contains(&key)) {
        return Ok(true);
    }
    let can_be_relied_on = can_be_relied_on(queue)?;
    if can_be_relied_on {
        RELIED_ON.with_borrow_mut(|(of, queues)| {
            if *of != version || queues.len() >= MOST {
                queues.clear();
                *of = version;
            }
            queues.insert(key);
        });
    }
    Ok(can_be_relied_on)
}

/// Of a queue that is known to keep no completed jobs.
fn can_be_relied_on(queue: &str) -> Result<bool> {
    let dependencies = catalog::relation(c"dependency")?;
    // Before the snapshot is taken: who adds followers later finds the setting.
    let may_have_followers = locks::is_written_by_others(dependencies);
    let has_untold: bool = with_spi(|spi| spi.run(&UNTOLD, &[datum(queue)])?.required(0, 1))?;
    Ok(!may_have_followers && !has_untold || armed(Seeded::RelyOnKeepAtOnce))
}
