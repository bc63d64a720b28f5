//! A job that is to be added, and the unique key that was asked for with it.

use crate::api::arguments::name;
use crate::job::routes::{self, Routes};
use crate::job::unique::Mode;
use crate::job::values::JobValues;
use crate::permission;
use crate::pg::call::{Call, datum};
use crate::pg::error::{Result, bad_value, null_element, quoted};
use crate::pg::spi::{Spi, Statement, statement};
use pgrx::datum::Interval;
use pgrx::pg_sys::Datum;

static KEY_OF_COLUMNS: Statement = statement!(
    "unique_by",
    [
        TEXTARRAYOID,
        TEXTOID,
        JSONBOID,
        TEXTOID,
        TEXTOID,
        TEXTOID,
        TEXTOID,
        TEXTOID
    ]
);

/// What a key can be made of.
const KEY_COLUMNS: [&str; 7] = [
    "kind",
    "payload",
    "queue",
    "tenant",
    "account",
    "session",
    "concurrency_key",
];

const DAY: i128 = 86_400_000_000;
/// A thousand years of twelve months of 30 days: times beyond cannot be told from mistakes, and some do not exist.
const LONGEST_WINDOW: i128 = 360_000 * DAY;

/// What a producer names, for the routes to decide on.
pub struct Named<'a> {
    pub kind: &'a str,
    pub queue: Option<&'a str>,
    pub tenant: Option<&'a str>,
    pub account: Option<&'a str>,
    pub concurrency_key: Option<&'a str>,
    /// NULL: 0.
    pub priority: Option<i32>,
    pub max_attempts: Option<i32>,
}

/// A job's row, and where it is to stand: NULL for a new id or position.
pub struct NewJob<'a> {
    pub values: JobValues,
    pub tenant: Option<&'a str>,
    pub id: Option<i64>,
    pub position: Option<i64>,
    pub wait: Wait,
}

/// Whether a new job waits for others.
#[derive(Clone, Copy, Default)]
pub struct Wait {
    /// For jobs that it comes after, or for its children.
    pub is_blocked: bool,
    /// Its children wait for its turn.
    pub opens_batch: bool,
}

/// The arguments about uniqueness, as they were passed.
pub struct Asked<'a> {
    pub key: Option<&'a str>,
    pub mode: &'a str,
    pub window: Option<Interval>,
    pub by: Option<Datum>,
    pub by_names: Option<Vec<Option<String>>>,
}

/// The key that a job is to hold.
pub struct UniqueKey {
    pub key: String,
    pub mode: Mode,
    pub window: Option<Datum>,
}

impl<'a> Asked<'a> {
    /// The arguments of a call, of which these are the places.
    pub fn of_call(
        call: &'a Call,
        key: usize,
        mode: &'a str,
        window: usize,
        by: usize,
    ) -> Result<Self> {
        Ok(Self {
            key: call.text(key),
            mode,
            window: call.interval(window),
            by: call.raw(by),
            by_names: call.texts(by, "unique_by")?,
        })
    }

    /// The key that was asked for, if any.
    pub fn unique_key(&self, spi: &Spi, asked: &JobValues) -> Result<Option<UniqueKey>> {
        let mode = Mode::required(self.mode)?;
        let key = match (name(self.key, "unique_key")?, &self.by_names) {
            (None, None) => None,
            (Some(key), None) => Some(key.to_owned()),
            (None, Some(names)) => {
                check_columns(names)?;
                Some(self.key_of_columns(spi, asked)?)
            }
            (Some(_), Some(_)) => {
                return Err(bad_value("unique_key and unique_by exclude each other")
                    .detail("Both are given.")
                    .hint("Pass the key, or the columns that it is to be made of."));
            }
        };
        self.check_window(mode, key.is_some())?;
        Ok(key.map(|key| UniqueKey {
            key,
            mode,
            window: self.window.and_then(datum),
        }))
    }

    fn key_of_columns(&self, spi: &Spi, asked: &JobValues) -> Result<String> {
        let arguments = [
            self.by,
            asked.kind,
            asked.payload,
            asked.queue,
            asked.tenant,
            asked.account,
            asked.session,
            asked.concurrency_key,
        ];
        spi.run(&KEY_OF_COLUMNS, &arguments)?.required(0, 1)
    }

    fn check_window(&self, mode: Mode, has_key: bool) -> Result<()> {
        let Some(micros) = self.window.map(|window| window.as_micros()) else {
            return match mode {
                Mode::UntilExpired if has_key => Err(bad_value("until_expired needs unique_for")
                    .detail("The argument \"unique_for\" is NULL.")
                    .hint("Say for how long the key is to be held, or use until_executed.")),
                _ => Ok(()),
            };
        };
        if !has_key {
            return Err(bad_value("unique_for needs a unique key")
                .detail("Neither unique_key nor unique_by is given.")
                .hint("Pass one of them, or leave unique_for out."));
        }
        if mode == Mode::WhileExecuting {
            return Err(bad_value("while_executing has no unique_for")
                .detail("It keeps no job from being enqueued.")
                .hint("Leave unique_for out, or use until_and_while_executing."));
        }
        if !(1..=LONGEST_WINDOW).contains(&micros) {
            return Err(
                bad_value("unique_for must be positive and at most 1000 years")
                    .detail(format!("It is {micros} microseconds."))
                    .hint("Leave it out to hold the key as long as the mode says."),
            );
        }
        Ok(())
    }
}

impl Named<'_> {
    /// The values of the job that was asked for, with what the routes and the queue's settings decide.
    pub fn routed(&self, spi: &Spi, asked: &JobValues) -> Result<JobValues> {
        self.routed_by(spi, &*routes::current(spi)?, asked)
    }

    /// As [`Self::routed`] by routes that were just looked up.
    pub fn routed_by(&self, spi: &Spi, routes: &Routes, asked: &JobValues) -> Result<JobValues> {
        let priority = self.priority.unwrap_or(0);
        let target = routes.target(self.kind, self.queue, self.concurrency_key, priority);
        permission::enqueue(target.queue, self.tenant)?;
        let max_attempts = match self.max_attempts {
            Some(number) => number,
            None => routes::max_attempts(spi, target.queue)?,
        };
        Ok(JobValues {
            queue: datum(target.queue),
            concurrency_key: target.concurrency_key.and_then(datum),
            priority: datum(target.priority),
            max_attempts: datum(max_attempts),
            ..*asked
        })
    }
}

fn check_columns(names: &[Option<String>]) -> Result<()> {
    if names.is_empty() {
        return Err(bad_value("unique_by must not be empty")
            .detail("An empty array names no column.")
            .hint("Name the columns that make jobs the same, such as kind and payload."));
    }
    for column in names {
        let column = column.as_deref().ok_or_else(|| null_element("unique_by"))?;
        if !KEY_COLUMNS.contains(&column) {
            return Err(bad_value("unique_by names an unknown column")
                .detail(format!("It is {}.", quoted(column)))
                .hint("Use kind, payload, queue, tenant, account, session and concurrency_key."));
        }
    }
    Ok(())
}
