//! Finds the extension's own tables. An OID that was found is kept until the server reports a change.

#![allow(
    unsafe_code,
    reason = "calls the server's look-ups and is called back by its caches"
)]

use crate::pg::call::datum;
use crate::pg::catalog_row::Row;
use crate::pg::error::{Failure, Result};
use crate::pg::seeded::{Seeded, armed};
use crate::pg::unguarded;
use pgrx::pg_guard;
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{self, AttrNumber, Datum, Oid, SysCacheIdentifier};
use pgrx::prelude::PgSqlErrorCode;
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_int};
use std::sync::OnceLock;

type RelationCallback = unsafe extern "C-unwind" fn(Datum, Oid);
type CatalogCallback = unsafe extern "C-unwind" fn(Datum, c_int, u32);

// utils/inval.h and commands/sequence.h, which the bindings leave out.
unsafe extern "C-unwind" {
    fn CacheRegisterRelcacheCallback(callback: RelationCallback, argument: Datum);
    fn CacheRegisterSyscacheCallback(cache: c_int, callback: CatalogCallback, argument: Datum);
    fn nextval_internal(sequence: Oid, check_permissions: bool) -> i64;
}

/// Which objects other backends have found to belong to the extension, by the OID of the jobs.
pub struct Shared {
    pub knows: fn(Oid, u64) -> bool,
    pub note: fn(Oid, u64),
}

static SHARED: OnceLock<Shared> = OnceLock::new();

/// Called from `_PG_init`.
pub fn share(shared: Shared) {
    let _ = SHARED.set(shared);
}

#[derive(Default)]
struct Known {
    version: u64,
    extension: Option<Oid>,
    relations: Vec<(&'static CStr, Oid)>,
    /// Other relations whose changes matter.
    watched: Vec<Oid>,
}

thread_local! {
    static KNOWN: RefCell<Known> = const {
        RefCell::new(Known { version: 0, extension: None, relations: Vec::new(), watched: Vec::new() })
    };
    static VERSION: Cell<u64> = const { Cell::new(1) };
}

/// Called from `_PG_init`.
pub fn register_callbacks() {
    // SAFETY: the callbacks live as long as the process.
    unsafe {
        CacheRegisterRelcacheCallback(relation_changed, Datum::null());
        for cache in [
            SysCacheIdentifier::NAMESPACEOID,
            SysCacheIdentifier::PROCOID,
        ] {
            CacheRegisterSyscacheCallback(cache as c_int, catalog_changed, Datum::null());
        }
    }
}

/// A number that changes as soon as something may have changed: a relation that was found or watched here since the
/// last change, with its columns, triggers and indexes; a function; the name of a schema.
pub fn version() -> u64 {
    VERSION.get()
}

#[pg_guard]
unsafe extern "C-unwind" fn relation_changed(_argument: Datum, relation: Oid) {
    let concerns = relation == pg_sys::InvalidOid
        || KNOWN.with(|known| {
            let known = known.try_borrow();
            known.map_or(true, |known| known.has(relation))
        });
    if concerns {
        forget();
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn catalog_changed(_argument: Datum, _cache: c_int, _hash: u32) {
    forget();
}

fn forget() {
    if !armed(Seeded::KeepWhatWasFound) {
        VERSION.set(VERSION.get() + 1);
    }
}

impl Known {
    fn has(&self, relation: Oid) -> bool {
        let mut found = self.relations.iter().map(|&(_, known)| known);
        found.any(|known| known == relation) || self.watched.contains(&relation)
    }

    /// Forgets what was found before this version.
    fn begin(&mut self, version: u64) {
        if self.version != version {
            self.version = version;
            self.extension = None;
            self.relations.clear();
            self.watched.clear();
        }
    }

    fn find(&self, name: &CStr) -> Option<Oid> {
        let mut relations = self.relations.iter();
        let found = relations.find(|(known, _)| *known == name);
        found.map(|&(_, relation)| relation)
    }
}

/// The OID of `turnstile.job`.
pub fn job_table() -> Result<Oid> {
    relation(c"job")
}

/// The OID of a table, index or sequence of the schema.
pub fn relation(name: &'static CStr) -> Result<Oid> {
    let version = VERSION.get();
    let known = KNOWN.with_borrow(|known| known.find(name).filter(|_| known.version == version));
    if let Some(relation) = known {
        return Ok(relation);
    }
    let relation = look_up(name)?;
    KNOWN.with_borrow_mut(|known| {
        known.begin(version);
        // The look-up may have processed invalidations that concern what it found.
        if VERSION.get() == version {
            known.relations.push((name, relation));
        }
    });
    Ok(relation)
}

/// Has [`version`] change with this relation, too, until the next change.
pub fn watch(relation: Oid) {
    let version = VERSION.get();
    KNOWN.with_borrow_mut(|known| {
        known.begin(version);
        if !known.has(relation) {
            known.watched.push(relation);
        }
    });
}

/// Locks a table of the schema until the transaction ends, and returns its OID: that of the table that has the name
/// once the lock is held, whatever other transactions did to it while this one waited.
pub fn lock(name: &'static CStr, mode: u32) -> Result<Oid> {
    let mode = mode.cast_signed();
    loop {
        let table = relation(name)?;
        // SAFETY: any number can be locked.
        unsafe { pg_sys::LockRelationOid(table, mode) };
        if relation(name)? == table {
            return Ok(table);
        }
        // SAFETY: it was locked just now.
        unsafe { pg_sys::UnlockRelationOid(table, mode) };
    }
}

/// The fixed columns of a row of the server's catalog.
///
/// # Safety
/// The cache must find rows that begin with these columns, by an OID alone.
pub unsafe trait Entry {
    const CACHE: c_int;
}

// SAFETY: the server makes the cache of these rows, by their OID.
unsafe impl Entry for pg_sys::FormData_pg_class {
    const CACHE: c_int = SysCacheIdentifier::RELOID as c_int;
}

// SAFETY: the cache has rows of pg_index, by the OID of the index.
unsafe impl Entry for pg_sys::FormData_pg_index {
    const CACHE: c_int = SysCacheIdentifier::INDEXRELID as c_int;
}

// SAFETY: the cache has rows of pg_database, by their OID.
unsafe impl Entry for pg_sys::FormData_pg_database {
    const CACHE: c_int = SysCacheIdentifier::DATABASEOID as c_int;
}

/// What a row of the catalog says, if there is such a row.
pub fn read<E: Entry, R: Copy>(oid: Oid, column: impl FnOnce(&E) -> R) -> Option<R> {
    // SAFETY: a look-up, inside a transaction; the row is read while it is held.
    unsafe {
        let found = pg_sys::SearchSysCache1(E::CACHE, Datum::from(oid));
        if found.is_null() {
            return None;
        }
        let said = column(&*pg_sys::GETSTRUCT(found).cast());
        pg_sys::ReleaseSysCache(found);
        Some(said)
    }
}

/// Finds only what belongs to the extension: after a rename, any relation can have the name.
fn look_up(name: &CStr) -> Result<Oid> {
    let found = of_schema(name);
    let name = name.to_string_lossy();
    if found == pg_sys::InvalidOid {
        return Err(Failure::new(
            PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE,
            format!("turnstile.{name} does not exist"),
        )
        .detail("The extension was dropped, or its relation was renamed.")
        .hint("Run CREATE EXTENSION turnstile, or give the relation its name back."));
    }
    if !is_own(pg_sys::RelationRelationId, found) {
        return Err(Failure::new(
            PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
            format!("turnstile.{name} is not the relation of the extension"),
        )
        .detail("Another relation has its name.")
        .hint("Give the extension's own relation its name back."));
    }
    Ok(found)
}

/// The body of a function of the extension that has no arguments; none if there is no such function.
pub fn body_of_function(name: &CStr) -> Option<String> {
    let row = Row::of_function(name, schema())?;
    let function = row.oid(pg_sys::Anum_pg_proc_oid as AttrNumber)?;
    let body = row.text(pg_sys::Anum_pg_proc_prosrc as AttrNumber);
    body.filter(|_| is_own(pg_sys::ProcedureRelationId, function))
}

fn schema() -> Oid {
    // SAFETY: a look-up in the catalog, inside a transaction.
    unsafe { pg_sys::get_namespace_oid(c"turnstile".as_ptr(), true) }
}

/// Whether a relation, which may be a user's own, is in the schema.
pub fn is_in_own_schema(relation: Oid) -> bool {
    // SAFETY: a look-up in the catalog, inside a transaction.
    unsafe { pg_sys::get_rel_namespace(relation) == schema() }
}

/// Whatever relation has the name in the schema; invalid if none has.
fn of_schema(name: &CStr) -> Oid {
    // SAFETY: a look-up in the catalog, inside a transaction.
    unsafe { pg_sys::get_relname_relid(name.as_ptr(), schema()) }
}

/// Whether an object belongs to the extension. To ask the catalog takes as long as several calls, so what was found is shared, unless
/// it may be rolled back. It is about that very object: another one that gets its name has another OID.
fn is_own(class: Oid, object: Oid) -> bool {
    let number = match armed(Seeded::TrustNames) {
        true => 0,
        false => object.to_u32(),
    };
    let name = (u64::from(class.to_u32()) << 32) | u64::from(number);
    let jobs = of_schema(c"job");
    let shared = SHARED.get();
    if shared.is_some_and(|shared| (shared.knows)(jobs, name)) {
        return true;
    }
    // SAFETY: a look-up in the catalog, inside a transaction.
    let owner = unsafe { pg_sys::getExtensionOfObject(class, object) };
    let is_own = owner != pg_sys::InvalidOid && owner == extension();
    if let Some(shared) = shared
        && is_own
        && unguarded::GetTopTransactionIdIfAny() == pg_sys::InvalidTransactionId
    {
        (shared.note)(jobs, name);
    }
    is_own
}

/// The OID of the extension; invalid if there is none in this database.
pub fn extension() -> Oid {
    let version = VERSION.get();
    let known = KNOWN.with_borrow(|known| known.extension.filter(|_| known.version == version));
    if let Some(extension) = known {
        return extension;
    }
    // SAFETY: a look-up in the catalog, inside a transaction.
    let extension = unsafe { pg_sys::get_extension_oid(c"turnstile".as_ptr(), true) };
    KNOWN.with_borrow_mut(|known| {
        known.begin(version);
        // With the extension, its functions go, which changes the version.
        let is_there = extension != pg_sys::InvalidOid && VERSION.get() == version;
        known.extension = is_there.then_some(extension);
    });
    extension
}

/// Whether a script of the extension is running: CREATE EXTENSION or ALTER EXTENSION.
pub fn is_in_script() -> bool {
    // SAFETY: reads process-local state.
    unsafe { pg_sys::creating_extension && pg_sys::CurrentExtensionObject == extension() }
}

/// The next number of a sequence of the schema.
pub fn next_number(sequence: &'static CStr) -> Result<i64> {
    let sequence = relation(sequence)?;
    // SAFETY: the relation is a sequence, or an error is raised.
    Ok(unsafe { pg_guard_ffi_boundary(|| nextval_internal(sequence, false)) })
}

/// The last number that a sequence of the schema gave; none if it gave none yet.
pub fn last_number(sequence: &'static CStr) -> Result<Option<i64>> {
    let sequence = relation(sequence)?;
    // SAFETY: the function takes the OID of a sequence.
    Ok(unsafe { pgrx::direct_function_call(pg_sys::pg_sequence_last_value, &[datum(sequence)]) })
}
