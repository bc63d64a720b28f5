//! Tables, their indexes and files.

#![allow(
    unsafe_code,
    reason = "calls functions of the server whose arguments differ"
)]

use pgrx::pg_sys;
use std::ffi::c_int;
use std::ptr::null_mut;

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
