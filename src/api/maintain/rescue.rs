//! `rescue` and `promote`: what claims do in passing, on demand.

use crate::api::arguments::bound;
use crate::permission;
use crate::pg::call::{Call, arguments, count, must_be_writable};
use crate::pg::catalog;
use crate::pg::error::Result;
use crate::pg::spi::with_spi;
use crate::upkeep;
use pgrx::pg_sys::Datum;

arguments!(rescue: MAX_JOBS);
arguments!(promote: MAX_JOBS);

pub fn rescue(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    permission::operate()?;
    let most = bound(call, rescue::MAX_JOBS)?;
    let rescued = with_spi(|spi| upkeep::on_demand::rescue(spi, catalog::job_table()?, most))?;
    Ok(count(rescued))
}

pub fn promote(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    permission::operate()?;
    let most = bound(call, promote::MAX_JOBS)?;
    let promoted = with_spi(|spi| upkeep::on_demand::promote(spi, catalog::job_table()?, most))?;
    Ok(count(promoted))
}
