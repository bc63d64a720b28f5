//! `schedule` and `unschedule`: what SQL does with the owner's rights, told who the caller is.

use crate::call::Call;
use crate::error::Result;
use crate::plan::{Statement, statement, with_spi};
use crate::rights;
use pgrx::pg_sys::Datum;

static SET: Statement = statement!(
    "set_recurring",
    [
        TEXTOID,
        TEXTOID,
        TEXTOID,
        JSONBOID,
        TEXTOID,
        TEXTOID,
        TEXTOID,
        TEXTOID,
        TEXTOID,
        INT4OID,
        INT4OID,
        TEXTOID,
        TEXTOID,
        INTERVALOID,
        JSONBOID,
        NAMEOID
    ]
);
static END: Statement = statement!("end_recurring", [TEXTOID, NAMEOID]);

pub fn schedule(call: &Call) -> Result<Option<Datum>> {
    for_caller(call, &SET, 15)
}

pub fn unschedule(call: &Call) -> Result<Option<Datum>> {
    for_caller(call, &END, 1)
}

/// Runs the statement with the arguments of the call, and the caller's name behind them.
fn for_caller(call: &Call, statement: &Statement, arguments: usize) -> Result<Option<Datum>> {
    let given = (0..arguments).map(|index| call.raw(index));
    let given: Vec<_> = given.chain([rights::caller_name()]).collect();
    with_spi(|spi| Ok(spi.run(statement, &given)?.get(0, 1)))
}
