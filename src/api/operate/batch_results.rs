//! `batch_results`.

use crate::permission::{self, Verb};
use crate::pg::call::{Call, arguments, datum};
use crate::pg::error::{Result, no_such_job, null_argument};
use crate::pg::output::Output;
use crate::pg::snapshot::Snapshot;
use crate::pg::spi::{Statement, statement, with_spi};
use crate::runs::finish::state_of;
use crate::table;
use pgrx::pg_sys::{self, Datum};

arguments!(batch_results: ID);

static RESULTS: Statement = statement!("batch_results", [INT8OID]);

const COLUMNS: i32 = 6;
/// The columns behind those.
const QUEUE: i32 = 7;
const TENANT: i32 = 8;
/// Rows that are fetched at once.
const BATCH: i64 = 1_000;

pub fn batch_results(call: &Call) -> Result<Option<Datum>> {
    let id = call
        .int8(batch_results::ID)
        .ok_or_else(|| null_argument("id"))?;
    let mut output = Output::of(call);
    with_spi(|spi| {
        // Who works on the parent gathers what its children have made, wherever they ran.
        let caller = match permission::may_work(spi, id)? {
            true => None,
            false => {
                permission::job(spi, Verb::See, id)?;
                permission::restricted(Verb::See)?
            }
        };
        state_of(spi, id)?.ok_or_else(|| no_such_job(id))?;
        // The snapshot must be younger than the locks.
        table::lock_jobs(pg_sys::AccessShareLock)?;
        spi.scan(
            &RESULTS,
            &[datum(id)],
            &Snapshot::with_own_changes(),
            BATCH,
            |rows| {
                for row in 0..rows.len() {
                    let queue = rows.required(row, QUEUE)?;
                    let tenant = rows.value(row, TENANT);
                    if caller.as_ref().is_some_and(|it| !it.allows(queue, tenant)) {
                        continue;
                    }
                    output.push((1..=COLUMNS).map(|column| rows.get(row, column)));
                }
                Ok(())
            },
        )
    })?;
    Ok(None)
}
