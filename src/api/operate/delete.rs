//! `delete_many`: finished jobs leave the history before their time.

use crate::api::operate::filter::{Choice, Filter, choice};
use crate::job::state::FINISHED;
use crate::pg::call::{Call, datum, must_be_writable};
use crate::pg::error::Result;
use crate::pg::spi::{Statement, statement, with_spi};
use pgrx::pg_sys::Datum;

static FIND: Choice = choice!("find_deletable", "finished", "deletable");
static LOCK: Statement = statement!("lock_finished", [INT8ARRAYOID]);
static DELETE: Statement = statement!("delete_finished", [INT8ARRAYOID]);

pub fn delete_many(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    let filter = Filter::of(call, &FINISHED, &[])?;
    let deleted = with_spi(|spi| {
        let ids = filter.lock(spi, &FIND, 0)?;
        if ids.is_empty() {
            return Ok(0);
        }
        // Their earlier ends, too, by which another call might bring them back.
        spi.run(&LOCK, &[datum(&*ids)])?;
        spi.run(&DELETE, &[datum(ids)])?.required::<i64>(0, 1)
    })?;
    Ok(datum(i32::try_from(deleted).unwrap_or(i32::MAX)))
}
