//! Which index of the extension an index is: by what it has, whatever it is called and however it is stored.

use crate::job::column;
use crate::pg::index::{self, Key, Plain};
use crate::pg::relation::Opened;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::tuple::RawRow;
use crate::shmem;
use pgrx::pg_sys::{self, Oid};

/// Whether an index has an entry for a row.
type Condition = fn(&RawRow) -> bool;

/// What a column of an index is, with the operators and the collation that it has.
#[derive(Clone, Copy)]
enum Kind {
    Number,
    Int,
    Time,
    Text,
    TextByBytes,
}

/// The columns of an index, and the condition as the server writes it.
struct Shape(&'static [(&'static str, Kind)], Option<&'static str>);

/// No condition looks at a column after this one, but for those of later releases.
const COLUMNS: usize = column::OWNER_PID;

pub const BY_ID: usize = 0;
pub const BY_LANE: usize = 1;
/// Where memory has which conditions are known: those of the jobs by their numbers, then that of the history.
const OF_HISTORY: usize = OF_JOBS.len();
const OF_JOBS: [(Shape, Condition); 7] = [
    (Shape(&[("id", Kind::Number)], None), |_| true),
    (
        Shape(
            &[
                ("lane_group", Kind::Number),
                ("lane", Kind::Number),
                ("position", Kind::Number),
            ],
            Some("(waits_for IS NULL)"),
        ),
        |row| row.is_available() || row.is_running(),
    ),
    (
        Shape(
            &[
                ("queue", Kind::TextByBytes),
                ("run_at", Kind::Time),
                ("position", Kind::Number),
            ],
            Some("(waits_for = 'time'::text)"),
        ),
        |row| row.is_put_off(),
    ),
    (
        Shape(&[("owner_pid", Kind::Int)], Some("(owner_pid IS NOT NULL)")),
        |row| row.raw(column::OWNER_PID).is_some(),
    ),
    (
        Shape(
            &[("parent", Kind::Number), ("priority", Kind::Int)],
            Some("(parent IS NOT NULL)"),
        ),
        |row| row.parent().is_some(),
    ),
    (
        Shape(
            &[("parent", Kind::Number)],
            Some("(waits_for = 'jobs'::text)"),
        ),
        |row| row.is_blocked(),
    ),
    (
        Shape(&[("id", Kind::Number)], Some("(waits_for = 'jobs'::text)")),
        |row| row.is_blocked(),
    ),
];
const OF_HISTORY_BY_PARENT: Shape = Shape(
    &[("parent", Kind::Number), ("state", Kind::Text)],
    Some("(parent IS NOT NULL)"),
);

/// Which indexes have an entry for a job, by their numbers.
#[derive(Clone, Copy)]
pub struct Entered([bool; OF_JOBS.len()]);

impl Entered {
    pub fn of(job: &RawRow) -> Self {
        let job = job.again(COLUMNS);
        Self(OF_JOBS.each_ref().map(|(_, holds)| holds(&job)))
    }

    pub fn has(self, number: usize) -> bool {
        self.0.get(number).copied().unwrap_or(true)
    }
}

/// Its number.
pub fn of_jobs(jobs: &Opened, index: Oid) -> Option<usize> {
    let plain = Plain::of(index)?;
    let place = |number| Place {
        job_table: jobs.oid(),
        number,
    };
    OF_JOBS
        .iter()
        .enumerate()
        .position(|(number, (shape, _))| shape.is_of(jobs, &plain, place(number)))
}

/// Whether it is that on the parent.
pub fn is_by_parent(job_table: Oid, partition: &Opened, index: Oid) -> bool {
    let place = Place {
        job_table,
        number: OF_HISTORY,
    };
    Plain::of(index).is_some_and(|plain| OF_HISTORY_BY_PARENT.is_of(partition, &plain, place))
}

/// Where memory has the number of a condition.
#[derive(Clone, Copy)]
struct Place {
    job_table: Oid,
    number: usize,
}

impl Shape {
    fn is_of(&self, table: &Opened, index: &Plain, place: Place) -> bool {
        let Self(columns, condition) = self;
        let has_columns = columns.len() == index.keys.len()
            && columns
                .iter()
                .zip(&index.keys)
                .all(|(&(name, kind), key)| kind.is_of(key) && is_named(table, key, name));
        has_columns
            && match (condition, &index.condition) {
                _ if armed(Seeded::TrustIndexName) => true,
                (None, None) => true,
                (Some(wanted), Some(found)) => place.has(found, wanted),
                _ => false,
            }
    }
}

impl Place {
    fn has(self, found: &index::Condition, wanted: &str) -> bool {
        let (Self { job_table, number }, condition) = (self, found.number());
        let known = shmem::recall(job_table, |read| read.condition(number)).flatten();
        if known == Some(condition) {
            return true;
        }
        let is_it = found.written().is_some_and(|written| written == wanted);
        if is_it {
            shmem::remember_condition(job_table, number, condition);
        }
        is_it
    }
}

fn is_named(table: &Opened, key: &Key, name: &str) -> bool {
    let number = usize::try_from(key.column).unwrap_or(0);
    table
        .column(number)
        .is_some_and(|column| column.name == name)
}

impl Kind {
    fn is_of(self, key: &Key) -> bool {
        let (operators, collation) = match self {
            Self::Number => (pg_sys::INT8_BTREE_OPS_OID, Oid::INVALID),
            Self::Int => (pg_sys::INT4_BTREE_OPS_OID, Oid::INVALID),
            Self::Time => (pg_sys::TIMESTAMPTZ_BTREE_OPS_OID, Oid::INVALID),
            Self::Text => (pg_sys::TEXT_BTREE_OPS_OID, pg_sys::DEFAULT_COLLATION_OID),
            Self::TextByBytes => (pg_sys::TEXT_BTREE_OPS_OID, pg_sys::C_COLLATION_OID),
        };
        (key.operators, key.collation, key.options) == (operators, collation, 0)
    }
}
