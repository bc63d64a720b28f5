//! Children that were added when the others had ended: how many have ended and how is not known before the job's next start.
//!
//! Who adds one leaves `{}` in the place of the numbers.

use crate::job::column;
use crate::job::later::Later;
use crate::pg::call::datum;
use crate::pg::error::Result;
use crate::pg::jsonb::Json;
use crate::pg::spi::{Rows, Spi, Statement, statement};
use crate::pg::tuple::RawRow;
use pgrx::pg_sys::Datum;

static CHILDREN_ENDED: Statement = statement!("children_ended", [INT8OID]);

/// The numbers of a job's children, as of now.
pub struct Counted<'s>(Rows<'s>);

impl Counted<'_> {
    pub fn numbers(&self) -> Option<Datum> {
        self.0.get(0, 1)
    }
}

/// The numbers of a job whose stored ones do not count.
pub fn counted_anew<'s>(spi: &'s Spi, job: &RawRow, later: &Later) -> Result<Option<Counted<'s>>> {
    let is_marked = |stored: &Json| stored.count() == 0;
    let marked = job.far_json(later.children).filter(is_marked);
    let Some(id) = marked.and_then(|_| job.int8(column::ID)) else {
        return Ok(None);
    };
    count(spi, id).map(Some)
}

pub fn count<'s>(spi: &'s Spi, job: i64) -> Result<Counted<'s>> {
    Ok(Counted(spi.run(&CHILDREN_ENDED, &[datum(job)])?))
}
