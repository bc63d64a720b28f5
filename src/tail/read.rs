//! Readings of the history.

use super::Cursor;
use super::known::Known;
use crate::pg::call::datum;
use crate::pg::error::Result;
use crate::pg::log_position::LogPosition;
use crate::pg::server::{self, BEFORE_ALL_TIMES, SECOND};
use crate::pg::snapshot::Snapshot;
use crate::pg::spi::{Rows, Spi, Statement, statement};
use crate::pg::{catalog, snapshot};
use pgrx::pg_sys::{self, Datum};

static RECENT: Statement = statement!(
    "recent",
    [
        INT8OID,
        TIMESTAMPTZOID,
        TIMESTAMPTZOID,
        INT8OID,
        INT8OID,
        INT8ARRAYOID,
        INT8OID,
        INT8ARRAYOID,
        INT8OID,
        BOOLOID
    ]
)
.that_reads_a_range();
static LATEST: Statement = statement!(
    "latest_ended",
    [INT8OID, TIMESTAMPTZOID, INT8OID, INT8ARRAYOID, INT8OID]
)
.that_reads_a_range();

/// How many jobs are given without a cursor, as by `tail -f`.
const LATEST_JOBS: usize = 10;
/// A clock that is set back by so much between two calls makes no gap.
const SLACK: i64 = 10 * SECOND;
/// Columns of [`RECENT`].
const FINISHED_AT: i32 = 10;
const ID: i32 = 1;
const BATCH: i64 = 1_000;
/// The end of times.
const FOREVER: i64 = i64::MAX;

/// Where to begin.
pub enum Start {
    /// With the last few.
    Latest,
    /// With all that the history has.
    Oldest,
    After(Box<Cursor>),
}

/// Gives rows until it has given enough.
pub struct Reader<'a, V> {
    pub spi: &'a Spi,
    pub with_errors: bool,
    pub left: usize,
    /// Is given a row and the cursor behind it.
    pub visit: V,
}

/// One reading: rows that one side knows and the other did not.
struct Reading<'a> {
    snapshot: &'a Snapshot,
    before: &'a Known,
    after: &'a Known,
}

impl<V: FnMut(&Rows, usize, String)> Reader<'_, V> {
    pub fn read(&mut self, start: &Start) -> Result<()> {
        let history = catalog::lock(c"job_history", pg_sys::AccessShareLock)?;
        let before = match start {
            Start::After(cursor) => Some(&cursor.after),
            Start::Latest | Start::Oldest => None,
        };
        let (snapshot, now) = Known::now(self.spi, history, before)?;
        let between = |before, after| Reading {
            snapshot: &snapshot,
            before,
            after,
        };
        let nothing = Known::nothing();
        match start {
            Start::After(cursor) => {
                let rest = between(&cursor.before, &cursor.after);
                self.go_on(&rest, cursor.finished_at, cursor.id)?;
                if self.left > 0 {
                    let from = begin(&cursor.after);
                    self.go_on(&between(&cursor.after, &now), from, i64::MIN)?;
                }
                Ok(())
            }
            Start::Oldest => self.go_on(&between(&nothing, &now), BEFORE_ALL_TIMES, i64::MIN),
            Start::Latest => {
                let wanted = self.left.min(LATEST_JOBS);
                match latest(self.spi, &snapshot, &now, wanted)? {
                    Some((finished_at, id)) => {
                        self.go_on(&between(&nothing, &now), finished_at, id.saturating_sub(1))
                    }
                    None => Ok(()),
                }
            }
        }
    }

    /// Gives the rows behind a place, in order. Looks at longer and longer times, so that a call that is far behind reads
    /// little more than it gives.
    fn go_on(&mut self, reading: &Reading, mut finished_at: i64, mut id: i64) -> Result<()> {
        let position = LogPosition::here();
        let prefix = Cursor::prefix(&position, reading.before, reading.after);
        let now = server::now();
        let mut span = SLACK + SECOND;
        while self.left > 0 {
            let end = finished_at.saturating_add(span);
            let is_last = finished_at == BEFORE_ALL_TIMES || end >= now;
            let end = if is_last { FOREVER } else { end };
            self.go_on_until(reading, &prefix, (finished_at, id), end)?;
            if is_last {
                break;
            }
            (finished_at, id) = (end.saturating_add(1), i64::MIN);
            span = span.saturating_mul(2);
        }
        Ok(())
    }

    fn go_on_until(
        &mut self,
        reading: &Reading,
        prefix: &str,
        (finished_at, id): (i64, i64),
        end: i64,
    ) -> Result<()> {
        let [known_end, known_open] = reading.before.parameters();
        let [end_of_ids, open] = reading.after.parameters();
        let arguments = [
            newest_id(),
            datum(finished_at),
            datum(end),
            datum(id),
            known_end,
            known_open,
            end_of_ids,
            open,
            datum(i64::try_from(self.left).unwrap_or(i64::MAX)),
            datum(self.with_errors),
        ];
        let spi = self.spi;
        spi.scan(&RECENT, &arguments, reading.snapshot, BATCH, |rows| {
            for row in 0..rows.len() {
                let place = (rows.required(row, FINISHED_AT)?, rows.required(row, ID)?);
                (self.visit)(rows, row, Cursor::write(prefix, place.0, place.1));
                self.left = self.left.saturating_sub(1);
            }
            Ok(())
        })
    }
}

/// From when on a reading must look at rows. All of them, if the clock was set back meanwhile.
fn begin(known: &Known) -> i64 {
    match known.since.is_ahead_of(server::now()) {
        true => BEFORE_ALL_TIMES,
        false => known.since.from.saturating_sub(SLACK),
    }
}

/// The place of the first of the last few rows. No index has the order, so longer and longer times are looked at, back to the
/// beginning of PostgreSQL's epoch, and then all.
fn latest(
    spi: &Spi,
    snapshot: &Snapshot,
    known: &Known,
    wanted: usize,
) -> Result<Option<(i64, i64)>> {
    let [end, open] = known.parameters();
    let now = server::now();
    let mut span = SECOND;
    loop {
        let from = match span > now {
            true => BEFORE_ALL_TIMES,
            false => now - span,
        };
        let arguments = [
            newest_id(),
            datum(from),
            end,
            open,
            datum(i64::try_from(wanted).unwrap_or(i64::MAX)),
        ];
        let (mut found, mut first) = (0, None);
        spi.scan(&LATEST, &arguments, snapshot, BATCH, |rows| {
            found += rows.len();
            if let Some(last) = rows.len().checked_sub(1) {
                first = Some((rows.required(last, 1)?, rows.required(last, 2)?));
            }
            Ok(())
        })?;
        if found >= wanted || from == BEFORE_ALL_TIMES {
            return Ok(first);
        }
        span = span.saturating_mul(2);
    }
}

/// The last transaction id that was given out; the ids in rows have no epoch, and none is newer.
fn newest_id() -> Option<Datum> {
    let next = snapshot::next_transaction_id();
    datum(next.saturating_sub(1).cast_signed())
}
