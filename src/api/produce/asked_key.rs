//! The unique key that a producer asks for: the key itself, or the columns that it is made of, and how long it is held.

use crate::api::arguments::name;
use crate::job::unique::{Hold, Mode, States};
use crate::job::values::JobValues;
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

/// The arguments about uniqueness, as they were passed.
pub struct Asked<'a> {
    pub key: Option<&'a str>,
    pub mode: Option<&'a str>,
    pub states: Option<Vec<Option<String>>>,
    pub window: Option<Interval>,
    pub by: Option<Datum>,
    pub by_names: Option<Vec<Option<String>>>,
}

/// The key that a job is to hold.
pub struct UniqueKey {
    pub key: String,
    pub hold: Hold,
    pub window: Option<Datum>,
}

/// Where a call has the arguments.
pub struct Places {
    pub key: usize,
    pub mode: usize,
    pub states: usize,
    pub window: usize,
    pub by: usize,
}

impl Places {
    pub fn later_by(&self, places: usize) -> Self {
        Self {
            key: self.key + places,
            mode: self.mode + places,
            states: self.states + places,
            window: self.window + places,
            by: self.by + places,
        }
    }
}

impl<'a> Asked<'a> {
    /// The arguments of a call, of which these are the places.
    pub fn of_call(call: &'a Call, places: &Places) -> Result<Self> {
        Ok(Self {
            key: call.text(places.key),
            mode: name(call.text(places.mode), "unique_mode")?,
            states: call.texts(places.states, "unique_states")?,
            window: call.interval(places.window),
            by: call.raw(places.by),
            by_names: call.texts(places.by, "unique_by")?,
        })
    }

    /// The key that was asked for, if any.
    pub fn unique_key(&self, spi: &Spi, asked: &JobValues) -> Result<Option<UniqueKey>> {
        let hold = self.hold()?;
        let key = match (name(self.key, "unique_key")?, &self.by_names) {
            (None, None) => return self.check_no_key().map(|()| None),
            (Some(key), None) => key.to_owned(),
            (None, Some(names)) => {
                check_columns(names)?;
                self.key_of_columns(spi, asked)?
            }
            (Some(_), Some(_)) => {
                return Err(bad_value("unique_key and unique_by exclude each other")
                    .detail("Both are given.")
                    .hint("Pass the key, or the columns that it is to be made of."));
            }
        };
        self.check_window(&hold)?;
        Ok(Some(UniqueKey {
            key,
            hold,
            window: self.window.and_then(datum),
        }))
    }

    fn hold(&self) -> Result<Hold> {
        match (self.mode, &self.states) {
            (None, None) => Ok(Hold::Mode(Mode::UntilExecuted)),
            (Some(mode), None) => Mode::required(mode).map(Hold::Mode),
            (None, Some(states)) => States::required(states).map(Hold::States),
            (Some(_), Some(_)) => Err(bad_value(
                "unique_mode and unique_states exclude each other",
            )
            .detail("Both are given.")
            .hint("Pass the mode, or the states in which the job is to hold its key.")),
        }
    }

    /// What says how a key is held needs one.
    fn check_no_key(&self) -> Result<()> {
        let given = [
            ("unique_mode", self.mode.is_some()),
            ("unique_states", self.states.is_some()),
            ("unique_for", self.window.is_some()),
        ];
        match given.into_iter().find(|(_, is_given)| *is_given) {
            Some((argument, _)) => Err(bad_value(format!("{argument} needs a unique key"))
                .detail("Neither unique_key nor unique_by is given.")
                .hint("Pass one of them, or leave out what says how the key is held.")),
            None => Ok(()),
        }
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

    fn check_window(&self, hold: &Hold) -> Result<()> {
        let Some(micros) = self.window.map(|window| window.as_micros()) else {
            return match hold {
                Hold::Mode(Mode::UntilExpired) => Err(bad_value("until_expired needs unique_for")
                    .detail("The argument \"unique_for\" is NULL.")
                    .hint("Say for how long the key is to be held, or use until_executed.")),
                Hold::States(states) if states.has_finished() => {
                    Err(bad_value("unique_states with a finished state needs unique_for")
                        .detail("The argument \"unique_for\" is NULL, and a job stays finished.")
                        .hint("Say for how long the key is to be held, or leave completed, cancelled and discarded out."))
                }
                _ => Ok(()),
            };
        };
        if *hold == Hold::Mode(Mode::WhileExecuting) {
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
