//! Runs SQL statements and reads their results.

#![allow(unsafe_code, reason = "calls SPI")]

use crate::pg::error::{Result, internal, not_committed};
use crate::pg::pause::before_look;
use crate::pg::planning::LockedPlan;
use crate::pg::relation::Opened;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::snapshot::Snapshot;
use crate::pg::statement::free_replaced_plans;
use crate::pg::{catalog, compat, rights};
use pgrx::FromDatum;
use pgrx::datum::{Array, Interval};
use pgrx::pg_sys::{self, Datum};
use std::cell::Cell;
use std::ffi::CStr;
use std::marker::PhantomData;
use std::ptr::null_mut;

pub use crate::pg::statement::Statement;
pub(crate) use crate::pg::statement::statement;

/// Rows of settings that are fetched at once.
const SETTINGS_AT_ONCE: i64 = 1_000;

/// A connection to SPI. Rows do not outlive it.
pub struct Spi(PhantomData<*const ()>);

/// The result of a statement.
pub struct Rows<'spi> {
    table: *mut pg_sys::SPITupleTable,
    count: usize,
    spi: PhantomData<&'spi Spi>,
}

/// A type as which a column of a result can be read. A text is read in place; all else is copied.
pub trait Value<'rows>: FromDatum {
    /// The types of columns that can be read as it.
    const TYPES: &'static [pg_sys::Oid];
}

impl<'rows> Value<'rows> for &'rows str {
    const TYPES: &'static [pg_sys::Oid] = &[pg_sys::TEXTOID, pg_sys::VARCHAROID];
}

impl Value<'_> for String {
    const TYPES: &'static [pg_sys::Oid] = &[pg_sys::TEXTOID, pg_sys::VARCHAROID];
}

impl<'rows> Value<'rows> for Array<'rows, &'rows str> {
    const TYPES: &'static [pg_sys::Oid] = &[pg_sys::TEXTARRAYOID];
}

impl Value<'_> for bool {
    const TYPES: &'static [pg_sys::Oid] = &[pg_sys::BOOLOID];
}

impl Value<'_> for i32 {
    const TYPES: &'static [pg_sys::Oid] = &[pg_sys::INT4OID];
}

impl Value<'_> for Vec<i64> {
    const TYPES: &'static [pg_sys::Oid] = &[pg_sys::INT8ARRAYOID];
}

/// A time counts as microseconds.
impl Value<'_> for i64 {
    const TYPES: &'static [pg_sys::Oid] = &[pg_sys::INT8OID, pg_sys::TIMESTAMPTZOID];
}

impl Value<'_> for Interval {
    const TYPES: &'static [pg_sys::Oid] = &[pg_sys::INTERVALOID];
}

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Counts how deep calls of the extension are nested, also after an error.
struct Depth;

impl Depth {
    fn one_more() -> Self {
        if DEPTH.replace(DEPTH.get() + 1) == 0 {
            free_replaced_plans();
        }
        Self
    }
}

impl Drop for Depth {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get().saturating_sub(1));
    }
}

/// Runs `work` with SPI connected. After an error the transaction's abort disconnects. What is allocated meanwhile,
/// such as a datum that is passed by reference, is gone afterwards.
pub fn with_spi<R>(work: impl FnOnce(&Spi) -> Result<R>) -> Result<R> {
    let _depth = Depth::one_more();
    // SAFETY: connect and finish are paired on success; an error aborts.
    unsafe {
        pg_sys::SPI_connect();
        let result = work(&Spi(PhantomData))?;
        pg_sys::SPI_finish();
        Ok(result)
    }
}

/// As [`with_spi`] for a procedure that ends transactions.
pub fn with_nonatomic_spi<R>(work: impl FnOnce(&Spi) -> Result<R>) -> Result<R> {
    let _depth = Depth::one_more();
    // SAFETY: connect and finish are paired on success; an error aborts.
    unsafe {
        pg_sys::SPI_connect_ext(pg_sys::SPI_OPT_NONATOMIC.cast_signed());
        let result = work(&Spi(PhantomData))?;
        pg_sys::SPI_finish();
        Ok(result)
    }
}

/// Parameters as SPI takes them.
struct Arguments {
    values: Vec<Datum>,
    nulls: Vec<i8>,
}

impl Arguments {
    fn of(arguments: &[Option<Datum>]) -> Self {
        let null = |value: &Option<Datum>| if value.is_some() { b' ' } else { b'n' };
        Self {
            values: arguments
                .iter()
                .map(|value| value.unwrap_or_else(Datum::null))
                .collect(),
            nulls: arguments
                .iter()
                .map(|value| null(value).cast_signed())
                .collect(),
        }
    }
}

impl Spi {
    fn locked_plan(&self, statement: &Statement) -> Result<LockedPlan> {
        if let Some((maker, version)) = statement.outdated()? {
            statement.renew(self.run(maker, &[])?.required(0, 1)?, version)?;
        }
        LockedPlan::of(statement)
    }

    /// Has statements planned before they are needed.
    pub fn plan(&self, statements: &[&Statement]) -> Result<()> {
        rights::pin();
        statements
            .iter()
            .try_for_each(|statement| self.locked_plan(statement).map(drop))
    }

    /// Ends the transaction and its snapshot, and begins another.
    pub fn commit(&self) {
        // SAFETY: an error is raised unless SPI was connected for it.
        unsafe { pg_sys::SPI_commit() };
    }

    /// Runs a statement with a snapshot taken once its tables are locked, whatever the isolation level: it must see
    /// what runs and what waits as it is now.
    pub fn run(&self, statement: &Statement, arguments: &[Option<Datum>]) -> Result<Rows<'_>> {
        rights::pin();
        let early = armed(Seeded::LookBeforeLocking).then(Snapshot::with_own_changes);
        let locked = self.locked_plan(statement)?;
        let mut arguments = Arguments::of(arguments);
        before_look();
        // SAFETY: values and nulls have one element a parameter; SPI copies the snapshot.
        unsafe {
            let snapshot = match &early {
                Some(early) => early.0,
                None if armed(Seeded::ClaimWithOldSnapshot) => pg_sys::GetTransactionSnapshot(),
                None => pg_sys::GetLatestSnapshot(),
            };
            let code = pg_sys::SPI_execute_snapshot(
                locked.plan,
                arguments.values.as_mut_ptr(),
                arguments.nulls.as_ptr(),
                snapshot,
                null_mut(),
                false,
                true,
                0,
            );
            if code < 0 {
                return Err(internal(format!("{} failed with {code}", statement.name)));
            }
            Ok(Rows::of_last_statement(self))
        }
    }

    /// The first value of a statement that reads a table of settings, as it is committed, without changes of this
    /// transaction: what goes into shared memory must not be undone by a rollback.
    pub fn committed<T: for<'rows> Value<'rows>>(
        &self,
        table: &'static CStr,
        statement: &Statement,
        arguments: &[Option<Datum>],
    ) -> Result<Option<T>> {
        let mut first = None;
        self.committed_rows([table], statement, arguments, |rows| {
            first.get_or_insert_with(|| rows.value(0, 1));
            Ok(())
        })?;
        Ok(first.flatten())
    }

    /// As [`Self::committed`] of several tables, but visits all rows.
    pub fn committed_rows(
        &self,
        tables: impl IntoIterator<Item = &'static CStr>,
        statement: &Statement,
        arguments: &[Option<Datum>],
        visit: impl FnMut(&Rows) -> Result<()>,
    ) -> Result<()> {
        for table in tables {
            let relation = Opened::of(catalog::lock(table, pg_sys::AccessShareLock)?);
            if relation.has_new_storage() && !armed(Seeded::TrustNewStorage) {
                return Err(not_committed(table));
            }
        }
        before_look();
        self.scan(
            statement,
            arguments,
            &Snapshot::take(),
            SETTINGS_AT_ONCE,
            visit,
        )
    }

    /// Returns what `read` makes of the first row of a statement's result under `snapshot`. Its tables must have been
    /// locked before.
    pub fn first_row<R>(
        &self,
        statement: &Statement,
        arguments: &[Option<Datum>],
        snapshot: &Snapshot,
        read: impl Fn(&Rows) -> R,
    ) -> Result<Option<R>> {
        let mut first = None;
        self.scan(statement, arguments, snapshot, 1, |rows| {
            first.get_or_insert_with(|| read(rows));
            Ok(())
        })?;
        Ok(first)
    }

    /// Reads the whole result of a statement under `snapshot`, in batches. Its tables must have been locked before.
    pub fn scan(
        &self,
        statement: &Statement,
        arguments: &[Option<Datum>],
        snapshot: &Snapshot,
        batch: i64,
        mut visit: impl FnMut(&Rows) -> Result<()>,
    ) -> Result<()> {
        rights::pin();
        let locked = self.locked_plan(statement)?;
        let mut arguments = Arguments::of(arguments);
        // SAFETY: the portal is closed below or by the abort; the snapshot is registered meanwhile.
        unsafe {
            pg_sys::PushActiveSnapshot(snapshot.0);
            let portal = pg_sys::SPI_cursor_open(
                null_mut(),
                locked.plan,
                arguments.values.as_mut_ptr(),
                arguments.nulls.as_ptr(),
                true,
            );
            loop {
                pg_sys::SPI_cursor_fetch(portal, true, batch);
                let rows = Rows::of_last_statement(self);
                if rows.len() == 0 {
                    break;
                }
                visit(&rows)?;
                pg_sys::SPI_freetuptable(rows.table);
                pgrx::check_for_interrupts!();
            }
            pg_sys::SPI_cursor_close(portal);
            pg_sys::PopActiveSnapshot();
        }
        Ok(())
    }
}

impl Rows<'_> {
    fn of_last_statement(_spi: &Spi) -> Self {
        // SAFETY: SPI sets both after each statement; the table is null without a result.
        unsafe {
            let table = pg_sys::SPI_tuptable;
            let count = if table.is_null() {
                0
            } else {
                pg_sys::SPI_processed
            };
            Self {
                table,
                count: usize::try_from(count).unwrap_or(0),
                spi: PhantomData,
            }
        }
    }

    pub fn len(&self) -> usize {
        self.count
    }

    /// A column (from 1) of a row; a datum passed by reference lives as long as the rows.
    pub fn get(&self, row: usize, column: i32) -> Option<Datum> {
        if row >= self.count || column < 1 {
            return None;
        }
        let mut is_null = false;
        // SAFETY: the row exists; SPI_getbinval checks the column.
        let value = unsafe {
            let tuple = *(*self.table).vals.add(row);
            pg_sys::SPI_getbinval(tuple, (*self.table).tupdesc, column, &mut is_null)
        };
        (!is_null).then_some(value)
    }

    /// A column as a Rust value. An error is raised where the statement gives it another type.
    pub fn value<'rows, T: Value<'rows>>(&'rows self, row: usize, column: i32) -> Option<T> {
        let value = self.get(row, column)?;
        if !T::TYPES.contains(&self.type_of(column)) {
            internal(format!("column {column} of a result has another type")).raise();
        }
        // SAFETY: the column has this type, and lives as long as the rows.
        unsafe { T::from_datum(value, false) }
    }

    fn type_of(&self, column: i32) -> pg_sys::Oid {
        let nth = usize::try_from(column - 1).unwrap_or(0);
        // SAFETY: a value was got from the column, so the descriptor has it.
        unsafe { (*compat::attribute((*self.table).tupdesc, nth)).atttypid }
    }

    pub fn required<'rows, T: Value<'rows>>(&'rows self, row: usize, column: i32) -> Result<T> {
        self.value(row, column)
            .ok_or_else(|| internal(format!("column {column} is missing from a result")))
    }
}
