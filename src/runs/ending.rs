//! How a job ends, whatever ends it: it leaves the live jobs and enters the history, unless no row of it is kept.

use crate::job::column;
use crate::job::lane::queue_key;
use crate::job::state::End;
use crate::permission::Restricted;
use crate::pg::call::datum;
use crate::pg::error::{Result, cancelled_by_trigger};
use crate::pg::seeded::{Seeded, armed};
use crate::pg::spi::{Spi, Statement, statement};
use crate::pg::tuple::RawRow;
use crate::pg::{jsonb, server};
use crate::runs::keeping::{self, Asked};
use crate::runs::kept::Kept;
use crate::table::{
    Command, Ended, History, Operation, Order, Partition, Search, Table, Where, places,
};
use crate::transaction::pending::{self, Work};
use crate::{permission, table};
use pgrx::pg_sys::{self, Datum};
use std::cell::Cell;
use std::rc::Rc;

static MAKE_END_JOBS: Statement = statement!("end_jobs", []);
static END_JOBS: Statement = Statement::of_catalog(
    &MAKE_END_JOBS,
    &[
        pg_sys::INT8ARRAYOID,
        pg_sys::INT4ARRAYOID,
        pg_sys::TEXTARRAYOID,
        pg_sys::TEXTARRAYOID,
        pg_sys::BOOLARRAYOID,
        pg_sys::JSONBARRAYOID,
        pg_sys::TIMESTAMPTZOID,
        pg_sys::TEXTARRAYOID,
    ],
);

/// Jobs whose ids are no farther apart are found by one search, which passes over those between.
const NEAR: i64 = 8;
/// 10 ms.
const MOMENT: i64 = server::SECOND / 100;

/// A job that is to end.
pub struct Ending<'a> {
    pub id: i64,
    /// The attempt of the run that ends; none for a job that waits.
    pub attempt: Option<i32>,
    pub end: End,
    pub result: Option<Datum>,
    /// As text; none keeps those of the job.
    pub errors: Option<&'a str>,
    /// A claim follows that goes on as the run did.
    pub is_followed: bool,
    /// Whether its cancellation is requested just now.
    pub is_cancelled_now: bool,
    /// A caller that may end only some jobs; the others are passed over.
    pub caller: Option<&'a Restricted>,
}

/// A job that has ended.
pub struct Finished {
    /// The gate of its queue.
    pub queue: u64,
    pub was_to_be_cancelled: bool,
    pub kept: Option<Kept>,
}

impl<'a> Ending<'a> {
    /// Of a job that waits.
    pub fn of_waiting(id: i64, end: End) -> Self {
        Self {
            id,
            attempt: None,
            end,
            result: None,
            errors: None,
            is_followed: false,
            is_cancelled_now: false,
            caller: None,
        }
    }

    pub fn of_run((id, attempt): (i64, i32), end: End) -> Self {
        Self {
            attempt: Some(attempt),
            ..Self::of_waiting(id, end)
        }
    }

    /// As [`Self::of_run`], if the caller may end it.
    pub fn of_worker(run: (i64, i32), end: End, caller: Option<&'a Restricted>) -> Self {
        Self {
            caller,
            ..Self::of_run(run, end)
        }
    }

    fn is_about(&self, row: &RawRow) -> bool {
        let is_meant = match self.attempt {
            Some(attempt) => row.is_run(self.id, attempt),
            None => row.int8(column::ID) == Some(self.id) && !row.is_running(),
        };
        is_meant && self.caller.is_none_or(|caller| caller.allows_row(row))
    }
}

/// Ends the jobs that are still what the endings say, in order of id, so that two calls cannot deadlock.
pub fn end_jobs(spi: &Spi, endings: &[Ending]) -> Result<Vec<Finished>> {
    let jobs = table::lock_jobs(pg_sys::RowExclusiveLock)?;
    // The lock comes before the time: readers rely on it (src/tail/since.rs).
    let history = table::lock_history()?;
    let clock = Clock(Cell::new(server::now()));
    let ends = endings.iter().map(|ending| (ending.id, ending.end.event()));
    pending::begin(jobs.table, Work::End(ends.collect()));
    let finished = match table::partition(&jobs, history, clock.0.get()) {
        Some(partition) => table::command(|command| {
            let mut live = command.open(&jobs, Operation::Delete);
            let mut past = Past {
                command,
                partition,
                jobs: endings.len(),
                history: None,
                asked: Asked::default(),
            };
            let finished = end_directly(&mut live, &mut past, endings, &clock)?;
            past.finish()?;
            Ok(finished)
        }),
        None => end_by_statement(spi, endings),
    }?;
    pending::end();
    Ok(finished)
}

/// Ends jobs that this transaction has locked, in any order: none of them can have ended otherwise.
pub fn end_locked(spi: &Spi, mut endings: Vec<Ending>) -> Result<()> {
    if endings.is_empty() {
        return Ok(());
    }
    endings.sort_unstable_by_key(|ending| ending.id);
    match end_jobs(spi, &endings)?.len() < endings.len() {
        true => Err(cancelled_by_trigger("deletion")),
        false => Ok(()),
    }
}

/// The history, which is opened for the first job that leaves a row.
struct Past<'c> {
    command: &'c Command,
    partition: Rc<Partition>,
    jobs: usize,
    history: Option<History<'c>>,
    asked: Asked,
}

impl Past<'_> {
    fn add(&mut self, job: &RawRow, queue: u64, ended: &Ended) -> Result<()> {
        if !self.asked.leaves_row(job, queue, ended.end)? {
            return Ok(());
        }
        let open = || self.command.open_history(self.partition.clone(), self.jobs);
        self.history.get_or_insert_with(open).add(job, ended)
    }

    fn finish(&mut self) -> Result<()> {
        self.history.as_mut().map_or(Ok(()), History::finish)
    }
}

fn end_directly(
    live: &mut Table,
    past: &mut Past,
    endings: &[Ending],
    clock: &Clock,
) -> Result<Vec<Finished>> {
    let mut places = live.places()?;
    let mut found = None;
    let mut finished = Vec::with_capacity(endings.len());
    let mut left = endings;
    while let Some((first, others)) = left.split_first() {
        let is_it = |row: &RawRow| first.is_about(row) || armed(Seeded::TrustPlace);
        if let Some(row) = places.take(first.id).filter(is_it) {
            finished.extend(end_row(live, past, row, first, clock)?);
            left = others;
            continue;
        }
        let (near, others) = left.split_at(1 + others.iter().take_while(follows(first)).count());
        left = others;
        let found = match &mut found {
            Some(found) => found,
            none => none.insert(live.prepare_search(Order::ById, between(0, 0).len())?),
        };
        end_near(live, past, found, near, clock, &mut finished)?;
    }
    Ok(finished)
}

/// Which of the next endings, one after the other, one search finds as well.
fn follows(first: &Ending) -> impl FnMut(&&Ending) -> bool {
    let mut last = first.id;
    move |next| {
        let is_near = next.id.saturating_sub(last) <= NEAR;
        last = next.id;
        is_near && !places::is_known(next.id)
    }
}

/// Ends those that one search finds.
fn end_near(
    live: &mut Table,
    past: &mut Past,
    found: &mut Search,
    near: &[Ending],
    clock: &Clock,
    finished: &mut Vec<Finished>,
) -> Result<()> {
    let (Some(first), Some(last)) = (near.first(), near.last()) else {
        return Ok(());
    };
    found.restart(&between(first.id, last.id))?;
    while let Some((row, ending)) = next_of(found, near) {
        let is_last = ending.id == last.id;
        finished.extend(end_row(live, past, row, ending, clock)?);
        if is_last {
            break;
        }
    }
    Ok(())
}

/// Ends a job that was found, unless it is no longer what the ending is about.
fn end_row(
    live: &mut Table,
    past: &mut Past,
    row: RawRow,
    ending: &Ending,
    clock: &Clock,
) -> Result<Option<Finished>> {
    live.delete(
        row,
        |row| ending.is_about(row),
        |job| {
            let ended = Ended {
                end: ending.end,
                finished_at: clock.time(&past.partition),
                result: ending.result,
                errors: ending.errors,
                is_cancelled_now: ending.is_cancelled_now,
            };
            let queue = queue_key(job.text(column::QUEUE).unwrap_or_default());
            past.add(job, queue, &ended)?;
            Ok(Finished {
                queue,
                was_to_be_cancelled: job.raw(column::CANCEL_REQUESTED_AT).is_some(),
                kept: ending.is_followed.then(|| Kept::of_row(job)),
            })
        },
    )
}

fn between(first: i64, last: i64) -> [Where; 2] {
    [
        Where::From(column::ID, first),
        Where::UpTo(column::ID, last),
    ]
}

/// The next row that one of the endings is about; the endings are in order of id. A superseded run does not wait for
/// a transaction that has locked the row.
fn next_of<'f, 'e>(
    found: &'f mut Search,
    endings: &'e [Ending<'e>],
) -> Option<(RawRow<'f>, &'e Ending<'e>)> {
    loop {
        let row = found.next()?;
        let id = row.int8(column::ID)?;
        let first = endings.partition_point(|ending| ending.id < id);
        let of_job = endings.get(first..)?.iter();
        let mut of_job = of_job.take_while(|ending| ending.id == id);
        if let Some(ending) = of_job.find(|ending| ending.is_about(&row)) {
            return Some((found.current(), ending));
        }
    }
}

/// The times at which jobs end.
struct Clock(Cell<i64>);

impl Clock {
    /// The same time for all jobs of a moment, because the history is summarized by the time, page by page; and a
    /// time of the day whose partition is open.
    fn time(&self, history: &Partition) -> i64 {
        let now = server::now();
        if now.saturating_sub(self.0.get()) > MOMENT && history.holds(now) {
            self.0.set(now);
        }
        self.0.get()
    }
}

fn end_by_statement(spi: &Spi, endings: &[Ending]) -> Result<Vec<Finished>> {
    let endings = &permission::only_allowed(spi, endings, |ending| (ending.id, ending.caller))?;
    fn all<T>(endings: &[&Ending], read: impl Fn(&Ending) -> T) -> Vec<T> {
        endings.iter().map(|ending| read(ending)).collect()
    }
    let completed = endings.iter().filter(|ending| ending.end == End::Completed);
    let unkept = keeping::queues_that_keep_none(spi, completed.map(|each| each.id).collect())?;
    let rows = spi.run(
        &END_JOBS,
        &[
            datum(all(endings, |ending| ending.id)),
            datum(all(endings, |ending| ending.attempt)),
            datum(all(endings, |ending| ending.end.name())),
            datum(all(endings, |ending| ending.errors.map(str::to_owned))),
            datum(all(endings, |ending| ending.is_cancelled_now)),
            jsonb::array(&all(endings, |ending| ending.result)),
            datum(server::now()),
            datum(unkept),
        ],
    )?;
    (0..rows.len())
        .map(|row| {
            if !rows.required::<bool>(row, 4)? {
                return Err(cancelled_by_trigger("deletion"));
            }
            if !rows.required::<bool>(row, 5)? {
                return Err(cancelled_by_trigger("insertion"));
            }
            Ok(Finished {
                queue: queue_key(rows.required(row, 2)?),
                was_to_be_cancelled: rows.required(row, 3)?,
                kept: Some(Kept::of_rows(&rows, row, 6)),
            })
        })
        .collect()
}
