//! The indexes of a table, opened row by row: an index of the extension is opened only once a row has an entry in it.

#![allow(unsafe_code, reason = "calls the executor")]

use super::own_indexes::Entered;
use super::slot::Slot;
use super::surroundings::{Jobs, KnownIndex};
use crate::pg::compat::{self, Entries};
use crate::pg::rights;
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{self, Oid};
use std::ffi::c_void;
use std::mem::size_of;
use std::rc::Rc;

// catalog/index.h, which the bindings leave out.
unsafe extern "C-unwind" {
    fn BuildIndexInfo(index: pg_sys::Relation) -> *mut pg_sys::IndexInfo;
}

/// Opens indexes of a table as the executor does, and makes room for one more.
///
/// # Safety
/// `info` is that of an open table, of which no index is open; closing its result relation closes them.
pub unsafe fn open(info: *mut pg_sys::ResultRelInfo, indexes: &[Oid]) {
    // SAFETY: as the caller says; the arrays have room for all indexes.
    unsafe {
        allocate(info, indexes.len() + 1);
        indexes.iter().for_each(|&index| {
            let relation = pg_sys::index_open(index, pg_sys::RowExclusiveLock.cast_signed());
            append(
                info,
                relation,
                pg_guard_ffi_boundary(|| BuildIndexInfo(relation)),
            );
        });
    }
}

/// An index of the extension that is opened only once a row has an entry in it.
pub struct LazyIndex {
    index: Option<Oid>,
    open: Option<Open>,
    info: *mut pg_sys::ResultRelInfo,
}

impl LazyIndex {
    /// There must be room for it among the indexes of `info`.
    pub fn of(index: Option<Oid>, info: *mut pg_sys::ResultRelInfo) -> Self {
        Self {
            index,
            open: None,
            info,
        }
    }

    pub fn open_for(&mut self, has_entry: bool) {
        if has_entry && self.open.is_none() {
            // SAFETY: the index is one of the table's, which is open.
            let open = |index| unsafe { Open::of(index, true, self.info) };
            self.open = self.index.map(open);
        }
        if let Some(open) = self.open {
            // SAFETY: the index stays open until the command ends.
            unsafe { (*open.index).ii_ReadyForInserts = has_entry && open.is_ready };
        }
    }
}

/// Makes room for so many indexes.
unsafe fn allocate(info: *mut pg_sys::ResultRelInfo, count: usize) {
    // SAFETY: both arrays are of pointers, and live as long as the command.
    unsafe {
        let arrays = pg_sys::palloc(2 * count * size_of::<*mut c_void>());
        (*info).ri_IndexRelationDescs = arrays.cast();
        (*info).ri_IndexRelationInfo = arrays.cast::<*mut c_void>().add(count).cast();
    }
}

unsafe fn append(
    info: *mut pg_sys::ResultRelInfo,
    relation: pg_sys::Relation,
    index: *mut pg_sys::IndexInfo,
) {
    // SAFETY: there is room in the arrays, as each index is opened once.
    unsafe {
        let count = usize::try_from((*info).ri_NumIndices).unwrap_or(0);
        *(*info).ri_IndexRelationDescs.add(count) = relation;
        *(*info).ri_IndexRelationInfo.add(count) = index;
        (*info).ri_NumIndices += 1;
    }
}

/// Enters a row that was stored into the indexes that are open.
pub unsafe fn enter(
    info: *mut pg_sys::ResultRelInfo,
    row: Slot,
    state: *mut pg_sys::EState,
    update: Option<Entries>,
) {
    // SAFETY: as the executor; the slot knows where the row is.
    unsafe {
        if (*info).ri_NumIndices > 0 {
            compat::insert_index_entries(info, row, state, update);
        }
    }
}

pub struct Indexes {
    jobs: Rc<Jobs>,
    /// Those of the jobs' indexes that are open.
    open: Vec<Option<Open>>,
    info: *mut pg_sys::ResultRelInfo,
}

#[derive(Clone, Copy)]
struct Open {
    index: *mut pg_sys::IndexInfo,
    is_ready: bool,
}

impl Indexes {
    /// # Safety
    /// `info` must be that of the jobs, which are locked. Closing its result relation closes the indexes.
    pub unsafe fn of(jobs: Rc<Jobs>, info: *mut pg_sys::ResultRelInfo) -> Self {
        let count = jobs.indexes.len();
        // SAFETY: the arrays have room for all.
        unsafe { allocate(info, count) };
        let open = vec![None; count];
        Self { jobs, open, info }
    }

    /// Opens the indexes that a row needs and that are not open yet. An index of the extension that has no entry
    /// for the row is passed over.
    pub fn open_for(&mut self, row: Entered) {
        for (&KnownIndex { oid, own }, open) in self.jobs.indexes.iter().zip(&mut self.open) {
            let is_needed = own.is_none_or(|number| row.has(number));
            if is_needed && open.is_none() {
                // SAFETY: the index is one of the table's, which is open.
                *open = Some(unsafe { Open::of(oid, own.is_some(), self.info) });
            }
            if let Some(open) = open {
                // SAFETY: the index stays open until the command ends. One that is not ready gets no entry.
                unsafe { (*open.index).ii_ReadyForInserts = is_needed && open.is_ready };
            }
        }
    }
}

impl Open {
    unsafe fn of(index: Oid, is_own: bool, info: *mut pg_sys::ResultRelInfo) -> Self {
        if !is_own {
            rights::pin();
        }
        // SAFETY: as the executor opens it. There is room in the arrays, as each index is opened once.
        unsafe {
            let relation = pg_sys::index_open(index, pg_sys::RowExclusiveLock.cast_signed());
            let index = match is_own {
                true => own_info(relation),
                false => pg_guard_ffi_boundary(|| BuildIndexInfo(relation)),
            };
            append(info, relation, index);
            Self {
                index,
                is_ready: (*index).ii_ReadyForInserts,
            }
        }
    }
}

/// As `BuildIndexInfo` for an index on columns. Its condition is left out: it holds for the rows that come here.
unsafe fn own_info(relation: pg_sys::Relation) -> *mut pg_sys::IndexInfo {
    // SAFETY: what the open index says of itself.
    unsafe {
        let form = &*(*relation).rd_index;
        let info = compat::plain_index_info(form, (*(*relation).rd_rel).relam);
        let count = usize::try_from(form.indnatts).unwrap_or(0);
        let columns = form.indkey.values.as_slice(count);
        for (to, from) in (*info).ii_IndexAttrNumbers.iter_mut().zip(columns) {
            *to = *from;
        }
        info
    }
}
