//! Moves waiting jobs to the queues and keys that the routes and endpoints name now.

use crate::api::arguments::{bound, name, required_name};
use crate::job::patterns::matches;
use crate::job::routes::{self, Columns};
use crate::permission;
use crate::pg::call::{Call, arguments, datum, must_be_writable};
use crate::pg::error::{Failure, Result, bad_value};
use crate::pg::spi::{Statement, statement, with_spi};
use crate::table::parents::moving_what_may_move;
use pgrx::pg_sys::Datum;

arguments!(route_of: KIND);
arguments!(reroute: PATTERN, MAX_JOBS, FROM_QUEUE);

static WAITING_KINDS: Statement = statement!("waiting_kinds", [TEXTOID]);
static REROUTE: Statement = statement!(
    "reroute",
    [
        TEXTARRAYOID,
        TEXTARRAYOID,
        TEXTARRAYOID,
        TEXTARRAYOID,
        INT4OID,
        TEXTOID,
        INT8ARRAYOID
    ]
);

pub fn route_of(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    let kind = required_name(call.text(route_of::KIND), "kind")?;
    let routes = with_spi(routes::current)?;
    Ok(routes
        .of_kind(kind)
        .and_then(|route| datum(route.pattern.as_str())))
}

pub fn reroute(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    permission::operate()?;
    let pattern = required_name(call.text(reroute::PATTERN), "pattern")?;
    let most = i32::try_from(bound(call, reroute::MAX_JOBS)?).unwrap_or(i32::MAX);
    name(call.text(reroute::FROM_QUEUE), "from_queue")?;
    let from_queue = call.raw(reroute::FROM_QUEUE);
    let moved = with_spi(|spi| {
        let routes = routes::current(spi)?;
        let waiting = spi.run(&WAITING_KINDS, &[from_queue])?;
        let kinds = (0..waiting.len())
            .filter_map(|row| waiting.value::<String>(row, 1))
            .filter(|kind| matches(pattern, kind));
        let columns = Columns::of(&routes, kinds);
        if columns.kinds.is_empty() {
            return Ok(0);
        }
        let [kinds, queues] = [datum(columns.kinds), datum(columns.queues)];
        let [keys, hosts] = [datum(columns.concurrency_keys), datum(columns.host_keys)];
        let (mut moved, mut left) = (0, Vec::new());
        // What stays must not stand in the way of what can be moved.
        loop {
            let most = datum(most.saturating_sub(moved));
            let arguments = [kinds, queues, keys, hosts, most, from_queue, datum(&*left)];
            let (rows, stays) = moving_what_may_move(|| spi.run(&REROUTE, &arguments))?;
            moved += i32::try_from(rows.len()).unwrap_or(i32::MAX);
            if stays.is_empty() {
                break;
            }
            left.extend(stays);
        }
        if let Some(&first) = left.first() {
            stay(first, left.len()).warn();
        }
        Ok(moved)
    })?;
    Ok(datum(moved))
}

fn stay(first: i64, number: usize) -> Failure {
    bad_value("some jobs stay where they are")
        .detail(format!(
            "{number} would be in the session of a job that waits for them, or of one for which they wait: job {first} is one."
        ))
        .hint("Move them one by one to another session, or to none.")
}
