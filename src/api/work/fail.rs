//! `fail` and `fail_many` end runs that did not succeed.

use crate::api::arguments::{check_wait, must_be_wait, name, run};
use crate::api::work::many::{must_match, permitted, runs};
use crate::pg::call::{Call, arguments, count, datum, must_be_writable, required};
use crate::pg::error::Result;
use crate::pg::spi::with_spi;
use crate::runs::finish::{Each, Failing, fail_run, fail_runs};
use pgrx::pg_sys::Datum;
use std::collections::HashSet;

arguments!(fail: JOB_ID, ATTEMPT, ERROR, RETRY_IN, DISCARD, ERROR_CLASS);
arguments!(fail_many: JOB_IDS, ATTEMPTS, ERRORS, RETRY_IN, DISCARD, ERROR_CLASSES);

pub fn fail(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    let (job_id, attempt) = run(call)?;
    check_wait(call, fail::RETRY_IN, "retry_in")?;
    name(call.text(fail::ERROR_CLASS), "error_class")?;
    let failing = Failing {
        error: call.raw(fail::ERROR),
        error_class: call.raw(fail::ERROR_CLASS),
        retry_in: call.raw(fail::RETRY_IN),
        discard: required(call.boolean(fail::DISCARD), "discard")?,
        ..Failing::default()
    };
    let state = with_spi(|spi| fail_run(spi, job_id, attempt, &failing))?;
    Ok(datum(state.name()))
}

pub fn fail_many(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    let runs = runs(call)?;
    let retry_in = call.intervals(fail_many::RETRY_IN, "retry_in")?;
    must_match(&runs, retry_in.as_ref().map(Vec::len), "retry_in")?;
    for &time in retry_in.iter().flatten() {
        must_be_wait(time, "retry_in")?;
    }
    for (index, name) in [
        (fail_many::ERRORS, "errors"),
        (fail_many::DISCARD, "discard"),
        (fail_many::ERROR_CLASSES, "error_classes"),
    ] {
        must_match(&runs, call.array_length(index, name)?, name)?;
    }
    call.check_texts(fail_many::ERROR_CLASSES, |class| {
        name(class, "error_classes").map(drop)
    })?;
    let failing = Failing {
        each: Some(Each {
            errors: call.raw(fail_many::ERRORS),
            retry_in: call.raw(fail_many::RETRY_IN),
            discard: call.raw(fail_many::DISCARD),
            error_classes: call.raw(fail_many::ERROR_CLASSES),
        }),
        ..Failing::default()
    };
    let failed = with_spi(|spi| {
        let mut runs = permitted(spi, &runs)?;
        each_once(&mut runs);
        let (ids, attempts): (Vec<_>, Vec<_>) = runs.into_iter().unzip();
        fail_runs(spi, &ids, &attempts, &failing)
    })?;
    Ok(count(failed.len()))
}

/// Of a run that is named again the first mention counts; the others stay at their places without an id.
fn each_once(runs: &mut [(Option<i64>, i32)]) {
    let mut seen = HashSet::new();
    for run in runs {
        if !seen.insert(*run) {
            run.0 = None;
        }
    }
}
