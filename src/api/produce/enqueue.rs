//! `enqueue` adds a job.

use crate::api::arguments::{check_size, name, required_name};
use crate::api::produce::asked_key::{self, Asked};
use crate::api::produce::decided::{Decided, decide};
use crate::api::produce::enqueue_unique::{Outcome, enqueue_unique};
use crate::api::produce::new_job::{Named, NewJob, Wait};
use crate::api::produce::ties::{Dependency, Places, Ties, tie};
use crate::job::lane::EVERY_QUEUE;
use crate::job::numbers;
use crate::job::values::JobValues;
use crate::pg::call::{Call, arguments, datum, must_be_writable, required};
use crate::pg::error::{Result, bad_value};
use crate::pg::output::Output;
use crate::pg::server;
use crate::pg::spi::{Spi, with_spi};
use crate::table::{self, Jobs, Operation};
use crate::transaction::parent::Parent;
use pgrx::pg_sys::{self, Datum};
use std::rc::Rc;

arguments!(
    enqueue: KIND,
    PAYLOAD,
    QUEUE,
    TENANT,
    ACCOUNT,
    SESSION,
    CONCURRENCY_KEY,
    PRIORITY,
    RUN_AT,
    MAX_ATTEMPTS,
    UNIQUE_KEY,
    UNIQUE_MODE,
    UNIQUE_FOR,
    METADATA,
    UNIQUE_BY,
    PARENT,
    AFTER,
    AFTER_ANY_END,
    AFTER_HOLD,
    UNIQUE_STATES,
);

pub fn enqueue(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    let request = Request::of_call(call, 0)?;
    let (id, _) = with_spi(|spi| request.add(spi))?;
    Ok(datum(id))
}

/// The same, and tells whether the job was added.
pub fn enqueue_if_new(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    let request = Request::of_call(call, 0)?;
    let mut output = Output::of(call);
    let (id, outcome) = with_spi(|spi| request.add(spi))?;
    output.push([datum(id), datum(outcome == Outcome::Added)].into_iter());
    Ok(None)
}

/// A job that a call asks for.
pub struct Request<'a> {
    named: Named<'a>,
    asked: JobValues,
    unique: Asked<'a>,
    pub ties: Ties,
}

impl<'a> Request<'a> {
    /// The arguments of a call; those behind the payload are `later` places farther on than those of `enqueue`.
    pub fn of_call(call: &'a Call, later: usize) -> Result<Self> {
        use enqueue::*;
        let at = |argument: usize| argument + later;
        let kind = required_name(call.text(KIND), "kind")?;
        let queue = real_queue(call.text(at(QUEUE)))?;
        name(call.text(at(TENANT)), "tenant")?;
        name(call.text(at(ACCOUNT)), "account")?;
        name(call.text(at(SESSION)), "session")?;
        let key = name(call.text(at(CONCURRENCY_KEY)), "concurrency_key")?;
        required(call.raw(PAYLOAD), "payload")?;
        check_size(call, PAYLOAD, "payload")?;
        check_size(call, at(METADATA), "metadata")?;
        check_max_attempts(call.int4(at(MAX_ATTEMPTS)))?;
        Ok(Self {
            named: Named {
                kind,
                queue,
                tenant: call.text(at(TENANT)),
                account: call.text(at(ACCOUNT)),
                concurrency_key: key,
                priority: call.int4(at(PRIORITY)),
                max_attempts: call.int4(at(MAX_ATTEMPTS)),
            },
            asked: JobValues {
                kind: call.raw(KIND),
                payload: call.raw(PAYLOAD),
                queue: call.raw(at(QUEUE)),
                tenant: call.raw(at(TENANT)),
                account: call.raw(at(ACCOUNT)),
                session: call.raw(at(SESSION)),
                concurrency_key: call.raw(at(CONCURRENCY_KEY)),
                priority: call.raw(at(PRIORITY)),
                run_at: call.raw(at(RUN_AT)),
                max_attempts: call.raw(at(MAX_ATTEMPTS)),
                metadata: call.raw(at(METADATA)),
                parent: None,
                claim_epoch: None,
                is_blocked: false,
            },
            unique: Asked::of_call(call, &KEY.later_by(later))?,
            ties: Ties::of_call(call, &TIES.later_by(later))?,
        })
    }

    /// Gives the id of the job, or of the one that holds its key, and what was done.
    fn add(self, spi: &Spi) -> Result<(i64, Outcome)> {
        let parent = self.ties.lock_parent(spi)?;
        let decided = self.decide(spi, parent.as_deref())?;
        if decided.unique.is_none() && self.ties.after.is_empty() {
            let jobs = table::lock_jobs(pg_sys::RowExclusiveLock)?;
            if jobs.is_direct() {
                return Ok((add(&jobs, &decided.values)?, Outcome::Added));
            }
        }
        self.ties.check_predecessors(spi, parent.as_deref())?;
        let wait = Wait {
            is_blocked: decided.values.is_blocked || !self.ties.after.is_empty(),
            opens_batch: false,
        };
        add_waiting(spi, &decided, wait, &self.ties)
    }

    fn decide<'p>(&self, spi: &Spi, parent: Option<&'p Parent>) -> Result<Decided<'p>>
    where
        'a: 'p,
    {
        let (asked, of_parent) = ((self.named, self.asked), (self.ties.parent, parent));
        decide(spi, asked, &self.unique, of_parent)
    }

    /// Adds a job whose children wait for its turn, unless it is open at once. Gives its id, what was done, and whether it
    /// is open.
    pub fn add_parent(self, spi: &Spi) -> Result<(i64, Outcome, bool)> {
        let parent = self.ties.lock_parent(spi)?;
        let decided = self.decide(spi, parent.as_deref())?;
        let values = &decided.values;
        self.ties.check_predecessors(spi, parent.as_deref())?;
        let comes_after = !self.ties.after.is_empty();
        let is_open = !comes_after && parent.is_none() && values.session.is_none() && {
            let due = server::time_of(values.run_at);
            due.is_none_or(|due| due <= server::now())
        };
        let wait = Wait {
            is_blocked: values.is_blocked || is_open || comes_after,
            opens_batch: !is_open,
        };
        let (id, outcome) = add_waiting(spi, &decided, wait, &self.ties)?;
        Ok((id, outcome, is_open))
    }
}

fn add_waiting(spi: &Spi, decided: &Decided, wait: Wait, ties: &Ties) -> Result<(i64, Outcome)> {
    let job = NewJob {
        values: decided.values,
        tenant: decided.tenant,
        place: None,
        wait,
    };
    let (id, outcome) = enqueue_unique(spi, &job, decided.unique.as_ref())?;
    if outcome != Outcome::Found {
        let dependency = |&predecessor: &i64| Dependency {
            job: id,
            predecessor,
            any_end: ties.any_end,
            holds: ties.holds,
            is_of_replaced: outcome == Outcome::Replaced,
        };
        tie(spi, &ties.after.iter().map(dependency).collect::<Vec<_>>())?;
    }
    Ok((id, outcome))
}

/// Where `enqueue` has the arguments about the unique key.
const KEY: asked_key::Places = asked_key::Places {
    key: enqueue::UNIQUE_KEY,
    mode: enqueue::UNIQUE_MODE,
    states: enqueue::UNIQUE_STATES,
    window: enqueue::UNIQUE_FOR,
    by: enqueue::UNIQUE_BY,
};

/// Where `enqueue` has the arguments about other jobs.
const TIES: Places = Places {
    parent: enqueue::PARENT,
    after: enqueue::AFTER,
    any_end: enqueue::AFTER_ANY_END,
    holds: enqueue::AFTER_HOLD,
};

/// Adds a job without a unique key; returns its id.
fn add(jobs: &Rc<Jobs>, values: &JobValues) -> Result<i64> {
    let (id, position) = numbers::Places::of(jobs.table, 1).next()?;
    let row = values.row(&jobs.later, id, position, server::now());
    table::command(|command| command.open(jobs, Operation::Insert).insert(row))?;
    Ok(id)
}

/// A queue that a job can be in; NULL: the routes decide.
fn real_queue(value: Option<&str>) -> Result<Option<&str>> {
    match name(value, "queue")? {
        Some(EVERY_QUEUE) => Err(bad_value("queue must not be *")
            .detail("The name * stands for all queues.")
            .hint("Name one queue, or leave it out to have it routed by the kind.")),
        queue => Ok(queue),
    }
}

fn check_max_attempts(value: Option<i32>) -> Result<()> {
    match value {
        Some(number) if number < 1 => Err(bad_value("max_attempts must be at least 1")
            .detail(format!("It is {number}."))
            .hint("Leave it out for the queue's setting.")),
        _ => Ok(()),
    }
}
