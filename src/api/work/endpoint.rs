//! Endpoints for those who send jobs there: `endpoint_of` and `report_endpoint`.

use crate::api::arguments::{required_name, run};
use crate::job::routes::{self, Endpoint};
use crate::permission::{self, Verb};
use crate::pg::call::{Call, arguments, datum, must_be_writable, required};
use crate::pg::error::{Result, bad_value, quoted};
use crate::pg::output::Output;
use crate::pg::spi::{Spi, Statement, statement, with_spi};
use crate::runs::finish::of_run;
use pgrx::pg_sys::Datum;

arguments!(endpoint_of: KIND);
arguments!(report_endpoint: JOB_ID, ATTEMPT, ANSWER, PAUSE);

static ENDPOINT: Statement = statement!("endpoint_of", [TEXTOID]);
static KIND_OF_RUN: Statement = statement!("kind_of_run", [INT8OID, INT4OID]);
static END_TRIAL: Statement = statement!("end_trial", [TEXTOID]);
static BEGIN_TRIAL: Statement = statement!("begin_trial", [TEXTOID, TEXTOID]);
static PAUSE_KEY: Statement = statement!("pause_key", [TEXTOID, INTERVALOID]);
static PAUSE_ENDPOINT: Statement = statement!("pause_endpoint", [TEXTOID]);

const COLUMNS: i32 = 15;
/// A dispatcher may not keep a host paused for longer than a day.
const LONGEST_PAUSE: i128 = 24 * 3_600_000_000;

/// How an endpoint fares.
enum Answer {
    Works,
    Failing,
    Busy(Option<Datum>),
    Gone,
}

pub fn endpoint_of(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    permission::work_or_manage()?;
    let kind = required_name(call.text(endpoint_of::KIND), "kind")?;
    let mut output = Output::of(call);
    with_spi(|spi| {
        let routes = routes::current(spi)?;
        let Some(endpoint) = routes.endpoint_of(kind) else {
            return Ok(None);
        };
        let rows = spi.run(&ENDPOINT, &[datum(endpoint.pattern.as_str())])?;
        for row in 0..rows.len() {
            output.push((1..=COLUMNS).map(|column| rows.get(row, column)));
        }
        Ok(None)
    })
}

pub fn report_endpoint(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    let (job_id, attempt) = run(call)?;
    let answer = answer(call)?;
    with_spi(|spi| {
        permission::job(spi, Verb::Work, job_id)?;
        let kind: String = of_run(spi, job_id, attempt, || {
            let arguments = [datum(job_id), datum(attempt)];
            Ok(spi.run(&KIND_OF_RUN, &arguments)?.value(0, 1))
        })?;
        match routes::current(spi)?.endpoint_of(&kind) {
            Some(endpoint) => note(spi, endpoint, &answer),
            None => Ok(()),
        }
    })?;
    Ok(Some(Datum::null()))
}

fn answer(call: &Call) -> Result<Answer> {
    let given = required(call.text(report_endpoint::ANSWER), "answer")?;
    if given != "busy" && call.raw(report_endpoint::PAUSE).is_some() {
        return Err(bad_value("pause needs the answer busy")
            .detail(format!("The answer is {}.", quoted(given)))
            .hint("Leave pause out."));
    }
    Ok(match given {
        "works" => Answer::Works,
        "failing" => Answer::Failing,
        "gone" => Answer::Gone,
        "busy" => {
            let pause = required(call.interval(report_endpoint::PAUSE), "pause")?;
            let micros = pause.as_micros();
            if !(1..=LONGEST_PAUSE).contains(&micros) {
                return Err(bad_value("pause must be positive and at most 24 hours")
                    .detail(format!("It is {micros} microseconds."))
                    .hint("Pass how long no job of the host is to start."));
            }
            Answer::Busy(call.raw(report_endpoint::PAUSE))
        }
        other => {
            return Err(bad_value("unknown answer")
                .detail(format!("It is {}.", quoted(other)))
                .hint("Use works, failing, busy or gone."));
        }
    })
}

fn note(spi: &Spi, endpoint: &Endpoint, answer: &Answer) -> Result<()> {
    let pattern = datum(endpoint.pattern.as_str());
    let key = endpoint.concurrency_key.as_deref().and_then(datum);
    match (answer, key) {
        (Answer::Gone, _) => spi.run(&PAUSE_ENDPOINT, &[pattern])?,
        (Answer::Works, Some(key)) => spi.run(&END_TRIAL, &[Some(key)])?,
        (Answer::Failing, Some(key)) => spi.run(&BEGIN_TRIAL, &[Some(key), pattern])?,
        (Answer::Busy(pause), Some(key)) => spi.run(&PAUSE_KEY, &[Some(key), *pause])?,
        (_, None) => return Ok(()),
    };
    Ok(())
}
