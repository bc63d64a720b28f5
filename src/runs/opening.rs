//! Parents whose turn has come: their children may start once this transaction has committed.

use crate::pg::call::datum;
use crate::pg::error::Result;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::spi::{Spi, Statement, statement};
use crate::transaction::pending;

static OPEN: Statement = statement!("open_batches", [INT8ARRAYOID]);

/// Opens the batches of these jobs, which a claim has found in their lane; returns how many. Others may wait for the commit, so the
/// call must not sleep before it.
pub fn open(spi: &Spi, jobs: &[i64]) -> Result<usize> {
    if jobs.is_empty() {
        return Ok(0);
    }
    let opened = spi.run(&OPEN, &[datum(jobs)])?.len();
    if opened > 0 && !armed(Seeded::SleepOnOpening) {
        pending::with(|pending| pending.must_not_sleep = true);
    }
    Ok(opened)
}
