//! What the planner is told of the extension's tables while it plans a statement of the extension: that they are large, and nothing of
//! their values.
//! Plans are kept, and what is true of a queue that was just drained is not true of the backlog that comes next.

#![allow(
    unsafe_code,
    reason = "is called back by the planner, and fills in its estimates"
)]

use crate::pg::catalog;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::settings;
use pgrx::{pg_guard, pg_sys};
use std::cell::Cell;

const ROWS: f64 = 1e6;
const PAGES: u32 = 50_000;
const INDEX_PAGES: u32 = 5_000;
/// Of an index with so many pages, without its root.
const INDEX_LEVELS: i32 = 2;

thread_local! {
    static IS_ASSUMED: Cell<bool> = const { Cell::new(false) };
    static PREVIOUS_SIZES: Cell<pg_sys::get_relation_info_hook_type> = const { Cell::new(None) };
    static PREVIOUS_VALUES: Cell<pg_sys::get_relation_stats_hook_type> = const { Cell::new(None) };
    static PREVIOUS_VALUES_OF_INDEX: Cell<pg_sys::get_index_stats_hook_type> = const { Cell::new(None) };
}

/// While it lives, the planner takes the tables of the extension for large.
pub struct LargeTables {
    was_assumed: bool,
}

impl LargeTables {
    pub fn assumed() -> Self {
        let is_assumed = !armed(Seeded::PlanByWhatIsKnown);
        Self {
            was_assumed: IS_ASSUMED.replace(is_assumed),
        }
    }
}

/// Code of users may run while a statement is planned, and have theirs planned: constants are computed then.
fn is_assumed_large(relation: pg_sys::Oid) -> bool {
    (IS_ASSUMED.get() || settings::assume_large_tables())
        && relation != pg_sys::InvalidOid
        && catalog::is_in_own_schema(relation)
}

impl Drop for LargeTables {
    fn drop(&mut self) {
        IS_ASSUMED.set(self.was_assumed);
    }
}

/// Called from `_PG_init`, by the postmaster: its children inherit what is set.
pub fn register() {
    // SAFETY: libraries set hooks while they are loaded, one after the other.
    unsafe {
        PREVIOUS_SIZES.set(pg_sys::get_relation_info_hook);
        pg_sys::get_relation_info_hook = Some(sizes);
        PREVIOUS_VALUES.set(pg_sys::get_relation_stats_hook);
        pg_sys::get_relation_stats_hook = Some(values);
        PREVIOUS_VALUES_OF_INDEX.set(pg_sys::get_index_stats_hook);
        pg_sys::get_index_stats_hook = Some(values_of_index);
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn sizes(
    root: *mut pg_sys::PlannerInfo,
    table: pg_sys::Oid,
    is_parent: bool,
    relation: *mut pg_sys::RelOptInfo,
) {
    if let Some(previous) = PREVIOUS_SIZES.get() {
        // SAFETY: with the arguments that the planner gave.
        unsafe { previous(root, table, is_parent, relation) };
    }
    if !is_parent && is_assumed_large(table) {
        // SAFETY: the planner's own, which it has filled in.
        unsafe { relation.as_mut() }.into_iter().for_each(enlarge);
    }
}

fn enlarge(relation: &mut pg_sys::RelOptInfo) {
    relation.pages = PAGES;
    relation.tuples = ROWS;
    relation.allvisfrac = 0.0;
    relation.statlist = std::ptr::null_mut();
    // SAFETY: a list of the planner's own, of pointers to its nodes.
    let indexes = unsafe { relation.indexlist.as_ref() }.map_or(&[][..], |list| unsafe {
        std::slice::from_raw_parts(list.elements, usize::try_from(list.length).unwrap_or(0))
    });
    for cell in indexes {
        // SAFETY: the list is one of nodes of this type.
        let index = unsafe { cell.ptr_value.cast::<pg_sys::IndexOptInfo>().as_mut() };
        index.into_iter().for_each(enlarge_index);
    }
}

fn enlarge_index(index: &mut pg_sys::IndexOptInfo) {
    index.pages = INDEX_PAGES;
    index.tuples = ROWS;
    index.tree_height = INDEX_LEVELS;
}

#[pg_guard]
unsafe extern "C-unwind" fn values(
    root: *mut pg_sys::PlannerInfo,
    entry: *mut pg_sys::RangeTblEntry,
    column: pg_sys::AttrNumber,
    answer: *mut pg_sys::VariableStatData,
) -> bool {
    // SAFETY: the entry of the table, or of what has no OID.
    let table = unsafe { entry.as_ref() }.map_or(pg_sys::InvalidOid, |entry| entry.relid);
    if is_assumed_large(table) {
        return nothing_known(answer);
    }
    let previous = PREVIOUS_VALUES.get();
    // SAFETY: with the arguments that the planner gave.
    previous.is_some_and(|previous| unsafe { previous(root, entry, column, answer) })
}

#[pg_guard]
unsafe extern "C-unwind" fn values_of_index(
    root: *mut pg_sys::PlannerInfo,
    index: pg_sys::Oid,
    column: pg_sys::AttrNumber,
    answer: *mut pg_sys::VariableStatData,
) -> bool {
    if is_assumed_large(index) {
        return nothing_known(answer);
    }
    let previous = PREVIOUS_VALUES_OF_INDEX.get();
    // SAFETY: with the arguments that the planner gave.
    previous.is_some_and(|previous| unsafe { previous(root, index, column, answer) })
}

/// That this is the answer. The planner has not always made it empty.
fn nothing_known(answer: *mut pg_sys::VariableStatData) -> bool {
    // SAFETY: the planner's own, for the answer.
    if let Some(answer) = unsafe { answer.as_mut() } {
        answer.statsTuple = std::ptr::null_mut();
        answer.freefunc = None;
    }
    true
}
