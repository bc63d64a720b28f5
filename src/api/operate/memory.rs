//! What the schedulers of all databases have in memory, for the view `turnstile.memory`.

use crate::pg::call::{Call, datum};
use crate::pg::error::Result;
use crate::pg::output::Output;
use crate::shmem;
use pgrx::pg_sys::Datum;

pub fn memory_use(call: &Call) -> Result<Option<Datum>> {
    let mut output = Output::of(call);
    for used in shmem::uses()? {
        output.push(
            [
                datum(used.database),
                datum(used.lanes),
                datum(used.gates),
                datum(used.bytes),
                datum(used.bytes_limit),
                datum(used.lanes_outside),
            ]
            .into_iter(),
        );
    }
    Ok(None)
}
