//! Prepared statements, kept for the life of the backend.

#![allow(unsafe_code, reason = "calls SPI")]

use crate::pg::catalog;
use crate::pg::error::{Result, internal};
use pgrx::pg_sys::{self, Oid};
use std::cell::RefCell;
use std::ffi::{CStr, CString};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// A statement, prepared at first use.
pub struct Statement {
    pub name: &'static str,
    text: Text,
    types: &'static [Oid],
    plan: AtomicPtr<pg_sys::_SPI_plan>,
    /// The version of the catalog from which it was made, if it was.
    version: AtomicU64,
    pub reads: Reads,
}

/// What a statement reads of tables that may be large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// What its arguments name, or the first entries of an index.
    Few,
    /// A range of times, by BRIN indexes, which only bitmaps read.
    Range,
    All,
}

enum Text {
    /// The text in `sql/queries`.
    Constant(&'static CStr),
    /// The result of another statement, which names the columns that exist, quoted by the server.
    OfCatalog(&'static Statement),
}

/// The statement in `sql/queries/$name.sql` with the types of its parameters.
macro_rules! statement {
    ($name:literal, [$($type:ident),*]) => {
        $crate::pg::statement::Statement::new(
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

thread_local! {
    /// Plans that were replaced. An outer call may still run them, because a user's trigger can call the extension,
    /// too.
    static REPLACED: RefCell<Vec<pg_sys::SPIPlanPtr>> = const { RefCell::new(Vec::new()) };
}

/// Frees plans that were replaced. No statement may be running.
pub fn free_replaced_plans() {
    for plan in REPLACED.take() {
        // SAFETY: nothing refers to it anymore.
        unsafe { pg_sys::SPI_freeplan(plan) };
    }
}

/// The version of the catalog, which changes with the columns of both tables.
fn version_of_tables() -> Result<u64> {
    let tables = [
        catalog::relation(c"job")?,
        catalog::relation(c"job_history")?,
    ];
    let version = catalog::version();
    tables.into_iter().for_each(catalog::watch);
    Ok(version)
}

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
            reads: Reads::Few,
        }
    }

    pub const fn that_reads_all(self) -> Self {
        Self {
            reads: Reads::All,
            ..self
        }
    }

    pub const fn that_reads_a_range(self) -> Self {
        Self {
            reads: Reads::Range,
            ..self
        }
    }

    /// The statement that makes the text anew, and the version of the catalog that it reads: where there is no text, or one that
    /// was made from another version.
    pub fn outdated(&self) -> Result<Option<(&'static Self, u64)>> {
        let Text::OfCatalog(maker) = self.text else {
            return Ok(None);
        };
        let version = version_of_tables()?;
        let is_kept = !self.kept().is_null() && self.version.load(Ordering::Relaxed) == version;
        Ok((!is_kept).then_some((maker, version)))
    }

    /// Gives it the text that was made from a version of the catalog.
    pub fn renew(&self, text: String, version: u64) -> Result<()> {
        let text = CString::new(text).map_err(|_| internal("a statement with a zero byte"))?;
        let replaced = self.kept();
        self.prepare(&text)?;
        self.version.store(version, Ordering::Relaxed);
        if !replaced.is_null() {
            REPLACED.with_borrow_mut(|plans| plans.push(replaced));
        }
        Ok(())
    }

    /// The kept plan. SPI must be connected, and the text must be there.
    pub fn plan(&self) -> Result<pg_sys::SPIPlanPtr> {
        let kept = self.kept();
        match self.text {
            Text::Constant(sql) if kept.is_null() => {
                #[cfg(feature = "seeded_faults")]
                let sql = &*crate::pg::seeded_statements::text(self.name, sql)?;
                self.prepare(sql)
            }
            _ => Ok(kept),
        }
    }

    fn kept(&self) -> pg_sys::SPIPlanPtr {
        self.plan.load(Ordering::Relaxed)
    }

    fn prepare(&self, sql: &CStr) -> Result<pg_sys::SPIPlanPtr> {
        let count = i32::try_from(self.types.len()).unwrap_or(0);
        // SAFETY: as `plan` says; the types are not written to.
        unsafe {
            let types = self.types.as_ptr().cast_mut();
            let options = pg_sys::CURSOR_OPT_GENERIC_PLAN.cast_signed();
            let plan = pg_sys::SPI_prepare_cursor(sql.as_ptr(), count, types, options);
            if plan.is_null() || pg_sys::SPI_keepplan(plan) != 0 {
                return Err(internal(format!("cannot prepare {}", self.name)));
            }
            self.plan.store(plan, Ordering::Relaxed);
            Ok(plan)
        }
    }
}
