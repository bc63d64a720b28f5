//! `prune_unique_keys` removes keys that no job holds anymore.

use crate::pg::call::{Call, arguments, count, datum, must_be_writable, required};
use crate::pg::error::{Result, bad_value};
use crate::pg::snapshot::oldest_seen_transaction_id;
use crate::pg::spi::{Statement, statement, with_spi};
use crate::{permission, table};
use pgrx::pg_sys::{self, Datum};

arguments!(prune_unique_keys: MAX_KEYS);

static PRUNE: Statement = statement!("prune_unique_keys", [INT4OID, XIDOID]);

pub fn prune_unique_keys(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    permission::operate()?;
    let most = required(call.int4(prune_unique_keys::MAX_KEYS), "max_keys")?;
    if most < 1 {
        return Err(bad_value("max_keys must be positive")
            .detail(format!("It is {most}."))
            .hint("Leave it out for the default."));
    }
    // As enqueue does: the jobs are locked before their keys.
    let jobs = table::lock_jobs(pg_sys::AccessShareLock)?;
    let oldest = oldest_seen_transaction_id(jobs.table);
    let pruned = with_spi(|spi| Ok(spi.run(&PRUNE, &[datum(most), datum(oldest)])?.len()))?;
    Ok(count(pruned))
}
