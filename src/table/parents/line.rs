//! A parent and the jobs that wait for it.

use crate::pg::call::datum;
use crate::pg::error::Result;
use crate::pg::spi::{Rows, Spi, Statement, statement};

static LOCK: Statement = statement!("lock_line", [INT8OID]);
static PARENT: Statement = statement!("parent", [INT8OID]);

/// The column of [`read`] with the sessions of the parent and of those that wait for it.
pub const SESSIONS: i32 = 10;
/// That says whether the parent was told how its children have ended.
pub const HAS_NUMBERS: i32 = 11;

pub fn lock(spi: &Spi, parent: i64) -> Result<()> {
    spi.run(&LOCK, &[datum(parent)]).map(drop)
}

/// What children need to know.
pub fn read(spi: &Spi, parent: i64) -> Result<Rows<'_>> {
    spi.run(&PARENT, &[datum(parent)])
}
