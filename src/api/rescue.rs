//! What claims do in passing, on demand.

use crate::api::names::bound;
use crate::call::{Call, count, must_be_writable};
use crate::catalog;
use crate::due;
use crate::error::Result;
use crate::permission;
use crate::plan::with_spi;
use crate::rescue;
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
    let promoted = with_spi(|spi| due::on_demand(spi, catalog::job_table()?, most))?;
    Ok(count(promoted))
}
