//! The arguments by which a call chooses many jobs.

use crate::api::arguments::{bound, check_wait, name};
use crate::job::patterns;
use crate::job::state::{self, State};
use crate::permission::{self, Verb};
use crate::pg::call::{Call, MOST_ELEMENTS, arguments, datum};
use crate::pg::error::{Result, bad_value};
use crate::pg::spi::{Spi, Statement};
use pgrx::pg_sys::{
    Datum, INT8OID, INTERVALOID, JSONBOID, Oid, TEXTARRAYOID, TEXTOID, TIMESTAMPTZOID,
};

arguments!(cancel_many: QUEUE, KIND, TENANT, ACCOUNT, SESSION, STATE, OLDER_THAN, MAX_JOBS, PARENT, CONCURRENCY_KEY, METADATA, ERROR, ENDED_BEFORE, FIRST_ID, LAST_ID);

use cancel_many::{
    ACCOUNT, CONCURRENCY_KEY, ENDED_BEFORE, ERROR, FIRST_ID, KIND, LAST_ID, MAX_JOBS, METADATA,
    OLDER_THAN, PARENT, QUEUE, SESSION, STATE, TENANT,
};

/// The arguments that are names; all calls about many jobs have the same ones.
const NAMES: [(usize, &str); 6] = [
    (QUEUE, "queue"),
    (KIND, "kind"),
    (TENANT, "tenant"),
    (ACCOUNT, "account"),
    (SESSION, "session"),
    (CONCURRENCY_KEY, "concurrency_key"),
];

/// Which jobs a call is about.
pub struct Filter {
    names: [Option<Datum>; 6],
    pub states: Vec<State>,
    older_than: Option<Datum>,
    most: i64,
    parent: Option<Datum>,
    metadata: Option<Datum>,
    error: Option<Datum>,
    ended_before: Option<Datum>,
    ids: [Option<Datum>; 2],
}

impl Filter {
    /// The filter of a call, which must have at least one argument. Without a state it is about the `usual` ones.
    pub fn of(call: &Call, usual: &[State], others: &[State]) -> Result<Self> {
        for (index, argument) in NAMES {
            name(call.text(index), argument)?;
        }
        check_wait(call, OLDER_THAN, "older_than")?;
        let most = bound(call, MAX_JOBS)?;
        if (0..MAX_JOBS)
            .chain(PARENT..=LAST_ID)
            .all(|index| call.raw(index).is_none())
        {
            return Err(bad_value("at least one filter must be given")
                .detail("All arguments but max_jobs are NULL.")
                .hint("To choose all jobs, say older_than => '0'."));
        }
        let about = (call.text(QUEUE), call.text(TENANT));
        permission::filter(Verb::Manage, about)?;
        // How many jobs are chosen tells what is in them.
        if call.raw(METADATA).or(call.raw(ERROR)).is_some() {
            permission::filter(Verb::See, about)?;
        }
        let known = || usual.iter().chain(others).copied();
        let states = match call.text(STATE) {
            None => usual.to_vec(),
            Some(state) => known().filter(|known| known.name() == state).collect(),
        };
        if states.is_empty() {
            return Err(bad_value("this call is not about jobs of that state")
                .detail(format!(
                    "The state must be one of {}.",
                    state::names(known()).join(", ")
                ))
                .hint("Leave the state out for the usual ones."));
        }
        Ok(Self {
            names: NAMES.map(|(index, _)| match index {
                KIND => call.text(index).map(patterns::like).and_then(datum),
                _ => call.raw(index),
            }),
            states,
            older_than: call.raw(OLDER_THAN),
            most: i64::try_from(most.min(MOST_ELEMENTS)).unwrap_or(i64::MAX),
            parent: call.raw(PARENT),
            metadata: call.raw(METADATA),
            error: call.raw(ERROR),
            ended_before: call.raw(ENDED_BEFORE),
            ids: [call.raw(FIRST_ID), call.raw(LAST_ID)],
        })
    }

    pub fn begin_at(&mut self, id: i64) {
        let [first, _] = &mut self.ids;
        *first = datum(id);
    }

    /// Locks the jobs that are found, and gives their ids in order.
    pub fn lock(&self, spi: &Spi, choice: &Choice, already: usize) -> Result<Vec<i64>> {
        let [queue, kind, tenant, account, session, concurrency_key] = self.names;
        let states = state::names(self.states.iter().copied());
        let [first_id, last_id] = self.ids;
        let left = i64::try_from(already).map_or(0, |already| self.most - already);
        let statement = match self.parent {
            Some(_) => &choice.children,
            None => &choice.any,
        };
        let rows = spi.run(
            statement,
            &[
                queue,
                kind,
                tenant,
                account,
                session,
                datum(states),
                self.older_than,
                datum(left),
                self.parent,
                concurrency_key,
                self.metadata,
                self.error,
                self.ended_before,
                first_id,
                last_id,
            ],
        )?;
        (0..rows.len()).map(|row| rows.required(row, 1)).collect()
    }
}

/// What is asked for: all jobs by their ids, or the children of a parent, for which one kept plan would read all jobs as well.
pub struct Choice {
    any: Statement,
    children: Statement,
}

impl Choice {
    pub const fn new(any: Statement, children: Statement) -> Self {
        Self { any, children }
    }
}

/// The types of the arguments.
pub const TYPES: [Oid; 15] = [
    TEXTOID,
    TEXTOID,
    TEXTOID,
    TEXTOID,
    TEXTOID,
    TEXTARRAYOID,
    INTERVALOID,
    INT8OID,
    INT8OID,
    TEXTOID,
    JSONBOID,
    TEXTOID,
    TIMESTAMPTZOID,
    INT8OID,
    INT8OID,
];

/// Statements that find jobs by a filter, made of parts in `sql/queries/filter`: of those that are named first, and of what all have.
macro_rules! choice {
    ($name:literal, $($part:literal),+) => {
        $crate::api::operate::filter::Choice::new(
            $crate::api::operate::filter::of_parts!($name, $($part,)+ "chosen", "any", "locked"),
            $crate::api::operate::filter::of_parts!(
                concat!($name, "_of_parent"), $($part,)+ "chosen", "children", "locked"
            ),
        )
    };
}
pub(crate) use choice;

macro_rules! of_parts {
    ($name:expr, $($part:literal),+) => {
        $crate::pg::spi::Statement::new(
            $name,
            concat!(
                $(include_str!(concat!(
                    env!("CARGO_MANIFEST_DIR"),
                    "/sql/queries/filter/",
                    $part,
                    ".sql"
                )),)+
                "\0"
            ),
            &$crate::api::operate::filter::TYPES,
        )
    };
}
pub(crate) use of_parts;
