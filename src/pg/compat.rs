//! What differs between the major versions of PostgreSQL. The only file that may say which one it is: a version is added
//! here, behind functions that keep their meaning.

#![allow(
    unsafe_code,
    reason = "calls functions of the server whose arguments differ"
)]

use pgrx::pg_sys;
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use std::ffi::c_int;
#[cfg(not(any(feature = "pg15", feature = "pg16")))]
use std::ffi::c_uint;
use std::mem::zeroed;
use std::ptr::null_mut;

// ---- Processes ------------------------------------------------------------------------------------

/// This process's number in the process array, from 0; negative if it has no place there.
#[inline]
pub fn process_number() -> c_int {
    // SAFETY: a constant of the process.
    unsafe {
        #[cfg(any(feature = "pg15", feature = "pg16"))]
        return (*pg_sys::MyProc).pgprocno;
        #[cfg(not(any(feature = "pg15", feature = "pg16")))]
        return pg_sys::MyProcNumber;
    }
}

/// This transaction as the lists of those that hold locks have it: the process and a number.
pub fn virtual_transaction() -> (c_int, u32) {
    // SAFETY: a process that runs SQL has its place in shared memory, and changes these fields itself.
    unsafe {
        let process = &*pg_sys::MyProc;
        #[cfg(any(feature = "pg15", feature = "pg16"))]
        return (process.backendId, process.lxid);
        #[cfg(not(any(feature = "pg15", feature = "pg16")))]
        return (process.vxid.procNumber, process.vxid.lxid);
    }
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
    unsafe {
        #[cfg(not(feature = "pg18"))]
        pg_sys::pqsignal(signal.cast_signed(), Some(handler));
        #[cfg(feature = "pg18")]
        pg_sys::pqsignal_be(signal.cast_signed(), Some(handler));
    }
}

/// A set of so many wait events that lives as long as the process.
pub fn lasting_wait_event_set(events: c_int) -> *mut pg_sys::WaitEventSet {
    // SAFETY: the context lives as long as the process, and so does a set without an owner.
    unsafe {
        #[cfg(any(feature = "pg15", feature = "pg16"))]
        return pg_sys::CreateWaitEventSet(pg_sys::TopMemoryContext, events);
        #[cfg(not(any(feature = "pg15", feature = "pg16")))]
        return pg_sys::CreateWaitEventSet(null_mut(), events);
    }
}

/// What the server shows as the wait event of a process that sleeps.
#[cfg(any(feature = "pg15", feature = "pg16"))]
pub fn wait_event() -> u32 {
    pg_sys::PG_WAIT_EXTENSION
}

/// As above, by a name of its own: all processes get the same number for it.
#[cfg(not(any(feature = "pg15", feature = "pg16")))]
pub fn wait_event() -> u32 {
    static EVENT: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    // SAFETY: the server copies the name.
    *EVENT.get_or_init(|| unsafe { pg_sys::WaitEventExtensionNew(c"TurnstileSleep".as_ptr()) })
}

// utils/timeout.h, which the bindings leave out.
#[cfg(not(any(feature = "pg15", feature = "pg16")))]
unsafe extern "C-unwind" {
    fn enable_timeout_after(timeout: c_uint, milliseconds: c_int);
    fn disable_timeout(timeout: c_uint, keep_indicator: bool);
}

#[cfg(not(any(feature = "pg15", feature = "pg16")))]
const TRANSACTION_TIMEOUT: c_uint = 8;

/// Waits between two transactions of a procedure. The server has begun the second by then, whose time begins to count after
/// the wait.
pub fn between_transactions<R>(wait: impl FnOnce() -> R) -> R {
    #[cfg(not(any(feature = "pg15", feature = "pg16")))]
    // SAFETY: the transaction ends with its time switched off, too, if the wait raises an error.
    unsafe {
        disable_timeout(TRANSACTION_TIMEOUT, false);
    }
    let result = wait();
    #[cfg(not(any(feature = "pg15", feature = "pg16")))]
    // SAFETY: as the server itself when a transaction begins.
    unsafe {
        if pg_sys::TransactionTimeout > 0 {
            enable_timeout_after(TRANSACTION_TIMEOUT, pg_sys::TransactionTimeout);
        }
    }
    result
}

/// Keeps `transaction_timeout` from ending transactions of this process, as the server's own upkeep does.
pub fn allow_long_transactions() {
    #[cfg(not(any(feature = "pg15", feature = "pg16")))]
    // SAFETY: the server copies the texts.
    unsafe {
        pg_sys::SetConfigOption(
            c"transaction_timeout".as_ptr(),
            c"0".as_ptr(),
            pg_sys::GucContext::PGC_SUSET,
            pg_sys::GucSource::PGC_S_OVERRIDE,
        );
    }
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
    // SAFETY: as the caller says. From 18 on, the columns follow a short form of each of them.
    unsafe {
        #[cfg(not(feature = "pg18"))]
        return (*columns).attrs.as_ptr().add(nth);
        #[cfg(feature = "pg18")]
        {
            let count = usize::try_from((*columns).natts).unwrap_or(0);
            let end = (*columns).compact_attrs.as_ptr().add(count);
            end.cast::<pg_sys::FormData_pg_attribute>().add(nth)
        }
    }
}

/// Whether columns are generated.
///
/// # Safety
/// The descriptor must be that of an open relation.
pub unsafe fn has_generated_columns(columns: pg_sys::TupleDesc) -> bool {
    // SAFETY: as the caller says.
    unsafe {
        let constraints = (*columns).constr;
        #[cfg(not(feature = "pg18"))]
        return !constraints.is_null() && (*constraints).has_generated_stored;
        #[cfg(feature = "pg18")]
        return !constraints.is_null()
            && ((*constraints).has_generated_stored || (*constraints).has_generated_virtual);
    }
}

/// The savepoint that first gave the relation new storage; zero if this transaction gave it none.
///
/// # Safety
/// The relation must be open.
#[inline]
pub unsafe fn first_new_storage(relation: pg_sys::Relation) -> pg_sys::SubTransactionId {
    // SAFETY: as the caller says.
    unsafe {
        #[cfg(feature = "pg15")]
        return (*relation).rd_firstRelfilenodeSubid;
        #[cfg(not(feature = "pg15"))]
        return (*relation).rd_firstRelfilelocatorSubid;
    }
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
            #[cfg(feature = "pg15")]
            {
                (*counts).t_counts.t_tuples_fetched += 1;
            }
            #[cfg(not(feature = "pg15"))]
            {
                (*counts).counts.tuples_fetched += 1;
            }
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
    unsafe {
        pg_sys::index_beginscan(
            table,
            index,
            snapshot,
            #[cfg(feature = "pg18")]
            null_mut(),
            keys,
            0,
        )
    }
}

/// As `makeIndexInfo`, for an index on columns that is neither a summary nor without overlaps.
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
            #[cfg(not(feature = "pg15"))]
            false,
            #[cfg(feature = "pg18")]
            false,
        )
    }
}

/// A file of a relation.
#[cfg(feature = "pg15")]
pub type File = pg_sys::RelFileNode;
#[cfg(not(feature = "pg15"))]
pub type File = pg_sys::RelFileLocator;

/// # Safety
/// The relation must be open.
pub unsafe fn file_of(relation: pg_sys::Relation) -> File {
    // SAFETY: as the caller says.
    unsafe {
        #[cfg(feature = "pg15")]
        return (*relation).rd_node;
        #[cfg(not(feature = "pg15"))]
        return (*relation).rd_locator;
    }
}

/// Holds a buffer if it still has the first page of the file.
///
/// # Safety
/// The buffer must be one that had a page.
#[inline]
pub unsafe fn hold_recent(file: File, buffer: pg_sys::Buffer) -> bool {
    // SAFETY: as the caller says.
    unsafe { pg_sys::ReadRecentBuffer(file, pg_sys::ForkNumber::MAIN_FORKNUM, 0, buffer) }
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
        #[cfg(feature = "pg15")]
        {
            (*entry).updatedCols = changed;
            pg_sys::ExecInitRangeTable(state, pg_sys::lappend(null_mut(), entry.cast()));
        }
        #[cfg(not(feature = "pg15"))]
        {
            let mut permissions = null_mut();
            let permission = pg_sys::addRTEPermissionInfo(&mut permissions, entry);
            (*permission).updatedCols = changed;
            pg_sys::ExecInitRangeTable(
                state,
                pg_sys::lappend(null_mut(), entry.cast()),
                permissions,
                #[cfg(feature = "pg18")]
                pg_sys::bms_make_singleton(1),
            );
        }
    }
}

/// Which indexes need an entry for the new version of a row.
#[derive(Clone, Copy)]
pub struct Entries(Kinds);

/// All of them or none.
#[cfg(feature = "pg15")]
type Kinds = bool;
/// All of them, none, or only those of summaries of pages, such as BRIN: the version is in the page of the one before.
#[cfg(not(feature = "pg15"))]
type Kinds = pg_sys::TU_UpdateIndexes::Type;

impl Entries {
    #[cfg(feature = "pg15")]
    const NONE: Kinds = false;
    #[cfg(not(feature = "pg15"))]
    const NONE: Kinds = pg_sys::TU_UpdateIndexes::TU_None;

    #[inline]
    pub fn are_needed(self) -> bool {
        self.0 != Self::NONE
    }

    #[cfg(not(feature = "pg15"))]
    fn are_of_summaries(self) -> bool {
        self.0 == pg_sys::TU_UpdateIndexes::TU_Summarizing
    }
}

/// Makes the row in the slot the next version of one, as its command sees that; `Entries` are those of an update that was made.
/// Where another transaction has the row, or any lock on it, the update waits or gives `TM_BeingModified`.
///
/// # Safety
/// The table must be open and the slot hold a row of it; the place must be that of a row that the command of the state sees.
#[inline]
pub unsafe fn update_row(
    table: pg_sys::Relation,
    mut place: pg_sys::ItemPointerData,
    row: *mut pg_sys::TupleTableSlot,
    state: *mut pg_sys::EState,
    waits: bool,
) -> Option<(pg_sys::TM_Result::Type, Entries)> {
    // SAFETY: as the caller says; all that is pointed to outlives the call.
    unsafe {
        let update = (*(*table).rd_tableam).tuple_update?;
        let mut entries = Entries(Entries::NONE);
        let mut failure: pg_sys::TM_FailureData = zeroed();
        let mut lock: pg_sys::LockTupleMode::Type = 0;
        let result = pg_guard_ffi_boundary(|| {
            update(
                table,
                &mut place,
                row,
                (*state).es_output_cid,
                (*state).es_snapshot,
                null_mut(),
                waits,
                &mut failure,
                &mut lock,
                &mut entries.0,
            )
        });
        Some((result, entries))
    }
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
            #[cfg(not(feature = "pg15"))]
            update.is_some_and(Entries::are_of_summaries),
        );
    }
}

// ---- Roles ----------------------------------------------------------------------------------------

/// The column of `pg_auth_members` that has the role which was granted.
#[cfg(feature = "pg15")]
pub const ROLE_THAT_HAS_MEMBER: pg_sys::AttrNumber = 1;
#[cfg(not(feature = "pg15"))]
pub const ROLE_THAT_HAS_MEMBER: pg_sys::AttrNumber = 2;
