//! `check` compares memory with the tables; `rebuild` builds it anew.

use crate::permission;
use crate::pg::call::{Call, datum, must_be_writable};
use crate::pg::catalog;
use crate::pg::error::Result;
use crate::pg::output::Output;
use crate::pg::spi::with_spi;
use crate::sync::{check, rebuild};
use crate::table::figures;
use pgrx::pg_sys::Datum;

pub fn check(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    permission::operate()?;
    let mut output = Output::of(call);
    with_spi(|spi| {
        for difference in check::run(spi, catalog::job_table()?)? {
            output.push([datum(difference.problem), datum(difference.detail)].into_iter());
        }
        check::tell_path()
    })?;
    Ok(None)
}

pub fn rebuild(_call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    permission::operate()?;
    with_spi(|spi| {
        let table = catalog::job_table()?;
        rebuild::force(spi, table)?;
        figures::count_anew(table)
    })?;
    Ok(Some(Datum::null()))
}
