//! `recent`.

use crate::permission;
use crate::pg::call::{Call, arguments, datum};
use crate::pg::error::{Failure, Result, bad_value, null_argument, on_standby};
use crate::pg::output::Output;
use crate::pg::server;
use crate::pg::spi::{Rows, with_spi};
use crate::tail::{Cursor, Reader, Start};
use pgrx::pg_sys::Datum;

arguments!(recent: SINCE, MAX_ROWS);

/// The columns before the cursor.
const COLUMNS: i32 = 11;
const MOST_ROWS: i32 = 100_000;

pub fn recent(call: &Call) -> Result<Option<Datum>> {
    // Who is ending jobs is known to the primary alone.
    if server::is_in_recovery() {
        return Err(on_standby());
    }
    let left = max_rows(call)?;
    let with_errors = permission::follow()?;
    let start = match call.text(recent::SINCE) {
        None => Start::Latest,
        Some("oldest") => Start::Oldest,
        Some(text) => Start::After(Box::new(Cursor::read(text)?)),
    };
    let mut output = Output::of(call);
    with_spi(|spi| {
        let mut reader = Reader {
            spi,
            with_errors,
            left,
            visit: |rows: &Rows, row, cursor| give(&mut output, rows, row, cursor),
        };
        reader.read(&start)?;
        Ok(None)
    })
}

fn give(output: &mut Output, rows: &Rows, row: usize, cursor: String) {
    let columns = (1..=COLUMNS).map(|column| rows.get(row, column));
    output.push(columns.chain([datum(cursor)]));
}

fn max_rows(call: &Call) -> std::result::Result<usize, Failure> {
    let given = (call.int4(recent::MAX_ROWS)).ok_or_else(|| null_argument("max_rows"))?;
    match usize::try_from(given) {
        Ok(rows) if (1..=MOST_ROWS).contains(&given) => Ok(rows),
        _ => Err(
            bad_value(format!("max_rows must be between 1 and {MOST_ROWS}"))
                .detail(format!("It is {given}."))
                .hint("Leave it out for 1,000, and call again for more."),
        ),
    }
}
