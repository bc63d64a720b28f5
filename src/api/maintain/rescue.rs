//! What claims do in passing, on demand.

use crate::api::arguments::bound;
use crate::permission;
use crate::pg::call::{Call, count, must_be_writable};
use crate::pg::catalog;
use crate::pg::error::Result;
use crate::pg::spi::with_spi;
use crate::upkeep::{promotion, rescue};
use pgrx::pg_sys::Datum;

pub fn rescue(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    permission::operate()?;
    let most = bound(call, 0)?;
    let rescued = with_spi(|spi| rescue::on_demand(spi, catalog::job_table()?, most))?;
    Ok(count(rescued))
}

pub fn promote(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    permission::operate()?;
    let most = bound(call, 0)?;
    let promoted = with_spi(|spi| promotion::on_demand(spi, catalog::job_table()?, most))?;
    Ok(count(promoted))
}
