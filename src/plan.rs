//! Prepared statements, kept for the life of the backend. The only caller of SPI.

use crate::catalog;
use crate::error::{Result, internal, not_committed};
use crate::seeded::{Seeded, armed};
use crate::table::Opened;
use pgrx::pg_sys::{self, Datum, Oid};
use std::ffi::{CStr, CString};
use std::marker::PhantomData;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// A statement, prepared at first use.
pub struct Statement {
    name: &'static str,
    text: Text,
    types: &'static [Oid],
    plan: AtomicPtr<pg_sys::_SPI_plan>,
    /// That of the catalog when it was made from that.
    version: AtomicU64,
}

enum Text {
    /// That of `sql/queries`.
    Constant(&'static CStr),
    /// What another statement makes of the columns that there are, quoted by the server.
    OfCatalog(&'static Statement),
}

/// The statement in `sql/queries/$name.sql` with the types of its parameters.
macro_rules! statement {
    ($name:literal, [$($type:ident),*]) => {
        $crate::plan::Statement::new(
            $name,
            concat!(
                include_str!(concat!(
                    env!("CARGO_MANIFEST_DIR"),
                    "/sql/queries/",
                    $name,
                    ".sql"
                )),
                "\0"
            ),
            &[$(pgrx::pg_sys::$type),*],
        )
    };
}
pub(crate) use statement;

impl Statement {
    pub const fn new(name: &'static str, sql: &'static str, types: &'static [Oid]) -> Self {
        let sql = match CStr::from_bytes_with_nul(sql.as_bytes()) {
            Ok(sql) => sql,
            Err(_) => c"",
        };
        Self::with(name, Text::Constant(sql), types)
    }

    /// The statement whose text is the result of another one, as long as the catalog stays as it is.
    pub const fn of_catalog(maker: &'static Statement, types: &'static [Oid]) -> Self {
        Self::with(maker.name, Text::OfCatalog(maker), types)
    }

    const fn with(name: &'static str, text: Text, types: &'static [Oid]) -> Self {
        Self {
            name,
            text,
            types,
            plan: AtomicPtr::new(null_mut()),
            version: AtomicU64::new(0),
        }
    }

    /// The kept plan, and whether running it will have to plan it first.
    fn plan(&self, spi: &Spi) -> Result<(pg_sys::SPIPlanPtr, bool)> {
        let kept = self.plan.load(Ordering::Relaxed);
        match self.text {
            // SAFETY: the plan is kept for the life of the backend.
            _ if !kept.is_null() && !self.is_of_before() => {
                Ok((kept, unsafe { !pg_sys::SPI_plan_is_valid(kept) }))
            }
            Text::Constant(sql) => {
                #[cfg(feature = "seeded_faults")]
                let sql = &*crate::seeded::text(self.name, sql)?;
                self.prepare(sql)
            }
            Text::OfCatalog(maker) => {
                let version = catalog::version();
                let text: String = spi.run(maker, &[])?.required(0, 1)?;
                let text =
                    CString::new(text).map_err(|_| internal("a statement with a zero byte"))?;
                let prepared = self.prepare(&text)?;
                self.version.store(version, Ordering::Relaxed);
                if !kept.is_null() {
                    // SAFETY: nobody else has it.
                    unsafe { pg_sys::SPI_freeplan(kept) };
                }
                Ok(prepared)
            }
        }
    }

    /// Whether the catalog was another when the statement was made from it.
    fn is_of_before(&self) -> bool {
        matches!(self.text, Text::OfCatalog(_))
            && self.version.load(Ordering::Relaxed) != catalog::version()
    }

    fn prepare(&self, sql: &CStr) -> Result<(pg_sys::SPIPlanPtr, bool)> {
        let count = i32::try_from(self.types.len()).unwrap_or(0);
        // SAFETY: SPI is connected (a Spi exists); the types are not written to.
        unsafe {
            let types = self.types.as_ptr().cast_mut();
            let options = pg_sys::CURSOR_OPT_GENERIC_PLAN.cast_signed();
            let plan = pg_sys::SPI_prepare_cursor(sql.as_ptr(), count, types, options);
            if plan.is_null() || pg_sys::SPI_keepplan(plan) != 0 {
                return Err(internal(format!("cannot prepare {}", self.name)));
            }
            self.plan.store(plan, Ordering::Relaxed);
            Ok((plan, true))
        }
    }
}

/// Keeps a plan from being made anew, and the tables that it reads or changes locked. What was committed while the locks were
/// waited for is seen by snapshots that are taken from now on, and by no others.
struct LockedPlan(*mut pg_sys::CachedPlan);

impl LockedPlan {
    fn of(plan: pg_sys::SPIPlanPtr) -> Self {
        // SAFETY: the plan is valid; it is of one statement. The locks last as long as the transaction.
        Self(unsafe { pg_sys::SPI_plan_get_cached_plan(plan) })
    }
}

impl Drop for LockedPlan {
    fn drop(&mut self) {
        if !std::thread::panicking() && !self.0.is_null() {
            // SAFETY: the plan was got in `of`, for this owner; after an error the abort releases it.
            unsafe { pg_sys::ReleaseCachedPlan(self.0, pg_sys::CurrentResourceOwner) };
        }
    }
}

/// While it lives the planner prefers indexes: a kept plan that was made while the table was small would read all of it
/// later. Where a table has none, the price that this puts on a scan would have it compiled, which takes far longer.
/// Only statements that are planned anew pay for the settings.
struct PlanForGrowth(i32);

impl PlanForGrowth {
    fn during_planning(is_planned: bool) -> Option<Self> {
        is_planned.then(|| {
            // SAFETY: an abort undoes the settings as well.
            unsafe {
                let level = pg_sys::NewGUCNestLevel();
                for setting in [c"enable_seqscan", c"jit"] {
                    pg_sys::set_config_option(
                        setting.as_ptr(),
                        c"off".as_ptr(),
                        pg_sys::GucContext::PGC_USERSET,
                        pg_sys::GucSource::PGC_S_SESSION,
                        pg_sys::GucAction::GUC_ACTION_SAVE,
                        true,
                        0,
                        false,
                    );
                }
                Self(level)
            }
        })
    }
}

impl Drop for PlanForGrowth {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: the level was opened in `during_planning`; after an error the abort closes it.
            unsafe { pg_sys::AtEOXact_GUC(false, self.0) };
        }
    }
}

/// A connection to SPI; rows live no longer.
pub struct Spi(PhantomData<*const ()>);

/// The result of a statement.
pub struct Rows<'spi> {
    table: *mut pg_sys::SPITupleTable,
    count: usize,
    spi: PhantomData<&'spi Spi>,
}

/// Runs `work` with SPI connected. After an error the transaction's abort disconnects. What is allocated meanwhile,
/// such as a datum that is passed by reference, is gone afterwards.
pub fn with_spi<R>(work: impl FnOnce(&Spi) -> Result<R>) -> Result<R> {
    // SAFETY: connect and finish are paired on the way of success; an error aborts.
    unsafe {
        pg_sys::SPI_connect();
        let result = work(&Spi(PhantomData))?;
        pg_sys::SPI_finish();
        Ok(result)
    }
}

/// As [`with_spi`] for a procedure that ends transactions.
pub fn with_nonatomic_spi<R>(work: impl FnOnce(&Spi) -> Result<R>) -> Result<R> {
    // SAFETY: as above.
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
    /// Ends the transaction and its snapshot, and begins another.
    pub fn commit(&self) {
        // SAFETY: an error is raised unless SPI was connected for it.
        unsafe { pg_sys::SPI_commit() };
    }

    /// Runs a statement with a snapshot taken once its tables are locked, whatever the isolation level: who is running and
    /// what is waiting must be seen as it is.
    pub fn run(&self, statement: &Statement, arguments: &[Option<Datum>]) -> Result<Rows<'_>> {
        let (plan, is_planned) = statement.plan(self)?;
        let _settings = PlanForGrowth::during_planning(is_planned);
        let _locks = (!armed(Seeded::LookBeforeLocking)).then(|| LockedPlan::of(plan));
        let mut arguments = Arguments::of(arguments);
        // SAFETY: values and nulls have one element a parameter; SPI copies the snapshot.
        unsafe {
            let snapshot = match armed(Seeded::ClaimWithOldSnapshot) {
                true => pg_sys::GetTransactionSnapshot(),
                false => pg_sys::GetLatestSnapshot(),
            };
            let code = pg_sys::SPI_execute_snapshot(
                plan,
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

    /// The first value of a statement's result, which reads a table of settings, as it is committed, whatever the transaction
    /// itself has changed: what goes into shared memory must not be undone by a rollback.
    pub fn committed<T: pgrx::FromDatum>(
        &self,
        table: &'static CStr,
        statement: &Statement,
        arguments: &[Option<Datum>],
    ) -> Result<Option<T>> {
        let value = self.committed_row(table, statement, arguments, |rows| rows.value(0, 1))?;
        Ok(value.flatten())
    }

    /// As [`Self::committed`], what `read` makes of the first row.
    pub fn committed_row<R>(
        &self,
        table: &'static CStr,
        statement: &Statement,
        arguments: &[Option<Datum>],
        read: impl Fn(&Rows) -> R,
    ) -> Result<Option<R>> {
        let relation = Opened::of(catalog::lock(table, pg_sys::AccessShareLock)?);
        if relation.has_new_storage() && !armed(Seeded::TrustNewStorage) {
            return Err(not_committed(table));
        }
        let mut first = None;
        self.scan(statement, arguments, &Snapshot::take(), 1, |rows| {
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
        let (plan, _) = statement.plan(self)?;
        let mut arguments = Arguments::of(arguments);
        // SAFETY: the portal is closed below or by the abort; the snapshot is registered meanwhile.
        unsafe {
            pg_sys::PushActiveSnapshot(snapshot.0);
            let portal = pg_sys::SPI_cursor_open(
                null_mut(),
                plan,
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
        if row >= self.count {
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

    /// A column as a Rust value.
    pub fn value<T: pgrx::FromDatum>(&self, row: usize, column: i32) -> Option<T> {
        // SAFETY: each caller reads a column by the type that its statement gives it.
        self.get(row, column)
            .and_then(|datum| unsafe { T::from_datum(datum, false) })
    }

    pub fn required<T: pgrx::FromDatum>(&self, row: usize, column: i32) -> Result<T> {
        self.value(row, column)
            .ok_or_else(|| internal(format!("column {column} is missing from a result")))
    }
}

/// The id that the next transaction will get, with its epoch.
pub fn next_transaction_id() -> u64 {
    // SAFETY: reads shared memory under the server's own lock.
    unsafe { pg_sys::ReadNextFullTransactionId().value }
}

/// The oldest transaction id that some snapshot of the server may take for running, in a table of this database.
pub fn oldest_seen_transaction_id(table: pg_sys::Oid) -> pg_sys::TransactionId {
    // SAFETY: the table is open meanwhile, with a lock that nothing waits for but its end.
    unsafe {
        let lock = pg_sys::AccessShareLock as i32;
        let relation = pg_sys::table_open(table, lock);
        let oldest = pg_sys::GetOldestNonRemovableTransactionId(relation);
        pg_sys::table_close(relation, lock);
        oldest
    }
}

/// A registered snapshot.
pub struct Snapshot(pg_sys::Snapshot);

impl Snapshot {
    /// What is committed now, without what the transaction itself has changed.
    pub fn take() -> Self {
        // SAFETY: called inside a transaction; registering copies the snapshot. No change of the
        // transaction belongs to a command before the first.
        unsafe {
            let snapshot = Self::with_own_changes();
            (*snapshot.0).curcid = pg_sys::FirstCommandId;
            snapshot
        }
    }

    /// What is committed now, and what the transaction itself has changed.
    pub fn with_own_changes() -> Self {
        // SAFETY: called inside a transaction; registering copies the snapshot.
        Self(unsafe { pg_sys::RegisterSnapshot(pg_sys::GetLatestSnapshot()) })
    }

    /// The first transaction id that the snapshot does not see, and those before it that it does not see:
    /// the ones that ran, and the transaction's own.
    pub fn horizon(&self) -> (u64, Vec<u32>) {
        // SAFETY: the snapshot is registered; xip has xcnt elements.
        unsafe {
            let snapshot = &*self.0;
            let next = next_transaction_id();
            let next_short = next as u32;
            let xmax = next - u64::from(next_short.wrapping_sub(u32::from(snapshot.xmax)));
            let count = usize::try_from(snapshot.xcnt).unwrap_or(0);
            let mut running = match count {
                0 => Vec::new(),
                _ => std::slice::from_raw_parts(snapshot.xip.cast::<u32>(), count).to_vec(),
            };
            if !armed(Seeded::RebuildSeesItself) {
                running.push(u32::from(pg_sys::GetTopTransactionIdIfAny()));
            }
            (xmax, running)
        }
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        // SAFETY: registered in `take`; after an error the resource owner has released it already.
        unsafe {
            if !std::thread::panicking() {
                pg_sys::UnregisterSnapshot(self.0);
            }
        }
    }
}
