//! What differs between the major versions of PostgreSQL. The only file that may say which one it is: a version is added
//! here, behind functions that keep their meaning.

#![allow(
    unsafe_code,
    reason = "calls functions of the server whose arguments differ"
)]

use pgrx::pg_sys;
use std::ffi::c_int;
use std::ptr::null_mut;

// ---- Processes ------------------------------------------------------------------------------------

/// This process's number in the process array, from 0; negative if it has no place there.
#[inline]
pub fn process_number() -> c_int {
    // SAFETY: a constant of the process.
    unsafe { (*pg_sys::MyProc).pgprocno }
}

/// The connection of this process's client; none in a process without one.
pub fn client_socket() -> Option<pg_sys::pgsocket> {
    // SAFETY: the socket is the first field of PostgreSQL's Port, which the bindings do not know.
    unsafe {
        let port = pg_sys::MyProcPort;
        (!port.is_null()).then(|| *port.cast::<pg_sys::pgsocket>())
    }
}

/// # Safety
/// As the server's own `pqsignal`.
pub unsafe fn on_signal(signal: u32, handler: unsafe extern "C-unwind" fn(signal: c_int)) {
    // SAFETY: as the caller says.
    unsafe { pg_sys::pqsignal(signal.cast_signed(), Some(handler)) };
}

/// A set of so many wait events that lives as long as the process.
pub fn lasting_wait_event_set(events: c_int) -> *mut pg_sys::WaitEventSet {
    // SAFETY: the context lives as long as the process.
    unsafe { pg_sys::CreateWaitEventSet(pg_sys::TopMemoryContext, events) }
}

/// What the server shows as the wait event of a process that sleeps.
#[inline]
pub fn wait_event() -> u32 {
    pg_sys::PG_WAIT_EXTENSION
}

// ---- Relations ------------------------------------------------------------------------------------

/// A column (from 0).
///
/// # Safety
/// The descriptor must have this column.
#[inline]
pub unsafe fn attribute(
    columns: pg_sys::TupleDesc,
    nth: usize,
) -> *const pg_sys::FormData_pg_attribute {
    // SAFETY: as the caller says.
    unsafe { (*columns).attrs.as_ptr().add(nth) }
}

/// Whether columns are generated.
///
/// # Safety
/// The descriptor must be that of an open relation.
pub unsafe fn has_generated_columns(columns: pg_sys::TupleDesc) -> bool {
    // SAFETY: as the caller says.
    unsafe {
        let constraints = (*columns).constr;
        !constraints.is_null() && (*constraints).has_generated_stored
    }
}

/// The savepoint that first gave the relation new storage; zero if this transaction gave it none.
///
/// # Safety
/// The relation must be open.
#[inline]
pub unsafe fn first_new_storage(relation: pg_sys::Relation) -> pg_sys::SubTransactionId {
    // SAFETY: as the caller says.
    unsafe { (*relation).rd_firstRelfilenodeSubid }
}

/// As the server's own way to read a row by an index counts it.
///
/// # Safety
/// The index must be open.
#[inline]
pub unsafe fn count_fetched(index: pg_sys::Relation) {
    // SAFETY: as the caller says; where the server counts, the search has made the place for it.
    unsafe {
        let counts = (*index).pgstat_info;
        if !counts.is_null() {
            (*counts).t_counts.t_tuples_fetched += 1;
        }
    }
}

/// # Safety
/// As `index_beginscan`.
#[inline]
pub unsafe fn begin_index_scan(
    table: pg_sys::Relation,
    index: pg_sys::Relation,
    snapshot: pg_sys::Snapshot,
    keys: c_int,
) -> pg_sys::IndexScanDesc {
    // SAFETY: as the caller says.
    unsafe { pg_sys::index_beginscan(table, index, snapshot, keys, 0) }
}

/// As `makeIndexInfo`, for an index on columns.
///
/// # Safety
/// `form` must be what the index of that access method says of itself.
#[inline]
pub unsafe fn plain_index_info(
    form: &pg_sys::FormData_pg_index,
    access_method: pg_sys::Oid,
) -> *mut pg_sys::IndexInfo {
    // SAFETY: as the caller says.
    unsafe {
        pg_sys::makeIndexInfo(
            i32::from(form.indnatts),
            i32::from(form.indnkeyatts),
            access_method,
            null_mut(),
            null_mut(),
            form.indisunique,
            form.indnullsnotdistinct,
            form.indisready,
            false,
        )
    }
}

// ---- Rows -----------------------------------------------------------------------------------------

/// Gives a command a range table of one entry, with the columns that are changed.
///
/// # Safety
/// The entry and the set must be in the memory of the command.
#[inline]
pub unsafe fn set_range_table(
    state: *mut pg_sys::EState,
    entry: *mut pg_sys::RangeTblEntry,
    changed: *mut pg_sys::Bitmapset,
) {
    // SAFETY: as the caller says.
    unsafe {
        (*entry).updatedCols = changed;
        pg_sys::ExecInitRangeTable(state, pg_sys::lappend(null_mut(), entry.cast()));
    }
}

/// Which indexes need an entry for the new version of a row.
#[derive(Clone, Copy)]
pub struct Entries(bool);

impl Entries {
    #[inline]
    pub fn are_needed(self) -> bool {
        self.0
    }
}

/// # Safety
/// As `simple_table_tuple_update`.
#[inline]
pub unsafe fn update_row(
    table: pg_sys::Relation,
    place: pg_sys::ItemPointer,
    row: *mut pg_sys::TupleTableSlot,
    snapshot: pg_sys::Snapshot,
) -> Entries {
    let mut entries = Entries(false);
    // SAFETY: as the caller says.
    unsafe { pg_sys::simple_table_tuple_update(table, place, row, snapshot, &mut entries.0) };
    entries
}

/// Enters a row into the indexes that are open: a new one, or the new version of one.
///
/// # Safety
/// The slot must hold a stored row of the table, whose indexes are open.
#[inline]
pub unsafe fn insert_index_entries(
    info: *mut pg_sys::ResultRelInfo,
    row: *mut pg_sys::TupleTableSlot,
    state: *mut pg_sys::EState,
    update: Option<Entries>,
) {
    // SAFETY: as the caller says.
    unsafe {
        pg_sys::ExecInsertIndexTuples(
            info,
            row,
            state,
            update.is_some(),
            false,
            null_mut(),
            null_mut(),
        );
    }
}
