//! What a reader of the history knows: transactions whose rows it has had, or will have had at the end of a reading.

use super::since::Since;
use crate::pg::call::datum;
use crate::pg::error::Result;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::snapshot::Snapshot;
use crate::pg::spi::{Spi, Statement, statement};
use crate::pg::{locks, server};
use pgrx::pg_sys::{Datum, Oid};

static OLDEST: Statement = statement!("oldest_transaction", []);

/// A cursor names each transaction that was open. With more of them it says nothing of those that came after, whose rows wait.
const MOST_OPEN: usize = 2_000;

/// The transactions before `end`, but not the `open` ones. Ids have their epoch; savepoints have ids of their own, which are the ones
/// that rows have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Known {
    pub end: u64,
    pub open: Vec<u64>,
    /// Where rows of other transactions begin.
    pub since: Since,
}

impl Known {
    /// What is known of no row.
    pub fn nothing() -> Self {
        Self {
            end: 0,
            open: Vec::new(),
            since: Since::first(
                server::BEFORE_ALL_TIMES,
                Vec::new(),
                server::BEFORE_ALL_TIMES,
            ),
        }
    }

    /// What is committed now, with the snapshot that sees it: all that was known before, and more. The history is locked.
    pub fn now(spi: &Spi, history: Oid, before: Option<&Self>) -> Result<(Snapshot, Self)> {
        // In this order: who ends a job after the list is made takes a later time, and who has ended one before is in the list or
        // in the snapshot.
        let now = server::now();
        let writers = match armed(Seeded::LookNoFurtherBack) {
            true => Vec::new(),
            false => locks::writers(history),
        };
        let since = match before {
            Some(before) => before.since.at(now, writers),
            None if writers.is_empty() => Since::first(now, writers, now),
            None => Since::first(now, writers, oldest_transaction(spi)?),
        };
        let snapshot = Snapshot::take();
        let (known, first) = match before {
            Some(before) => (before.open.as_slice(), before.end),
            None => (&[][..], 0),
        };
        let (end, mut open) = snapshot.unfinished(known, first);
        if armed(Seeded::FollowByTime) {
            open.clear();
        }
        let found = Self {
            end: end.max(first),
            open,
            since,
        };
        Ok((snapshot, found.cut(before)))
    }

    /// Fits it into a cursor. What was known stays known: only transactions that were not can be left out again.
    fn cut(mut self, before: Option<&Self>) -> Self {
        let Some(before) = before else {
            return self;
        };
        let older = self.open.partition_point(|&id| id < before.end);
        if let Some(&end) = self.open.get(older.max(MOST_OPEN)) {
            self.open.retain(|&id| id < end);
            self.end = end;
            self.since = before.since.clone();
        }
        self
    }

    /// As parameters of a statement.
    pub fn parameters(&self) -> [Option<Datum>; 2] {
        let open: Vec<i64> = self.open.iter().map(|&id| id.cast_signed()).collect();
        [datum(self.end.cast_signed()), datum(open)]
    }
}

/// When the first of the open transactions of this database began.
fn oldest_transaction(spi: &Spi) -> Result<i64> {
    server::forget_list_of_backends();
    let rows = spi.run(&OLDEST, &[])?;
    Ok(rows.value(0, 1).unwrap_or(server::BEFORE_ALL_TIMES))
}
