//! Conditions that are compiled once a connection. The executor compiles them for each statement, which costs more
//! than to evaluate them.

use crate::catalog;
use pgrx::pg_sys::{self, Oid};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::CStr;
use std::ptr::null_mut;

/// The partial indexes of the extension. They use functions of the server only, which nobody replaces, and a new
/// condition would come with a new index; of other indexes that cannot be said.
const OWN: [&CStr; 4] = [
    c"job_claim_idx",
    c"job_due_idx",
    c"job_lease_idx",
    c"job_owner_idx",
];

/// Lives as long as the connection.
type Compiled = *mut pg_sys::ExprState;

thread_local! {
    /// By index; none for one that is not the extension's own.
    static CONDITIONS: RefCell<HashMap<Oid, Option<Compiled>>> = RefCell::default();
    static TRUE: Cell<Option<Compiled>> = const { Cell::new(None) };
}

/// Lends their compiled conditions to the open indexes of a table.
///
/// # Safety
/// The indexes must have been opened by `ExecOpenIndices`.
pub unsafe fn lend_to_indexes(info: *mut pg_sys::ResultRelInfo) {
    // SAFETY: both arrays have as many elements as there are indexes.
    unsafe {
        for nth in 0..usize::try_from((*info).ri_NumIndices).unwrap_or(0) {
            let index = *(*info).ri_IndexRelationInfo.add(nth);
            if !(*index).ii_Predicate.is_null() {
                let oid = (**(*info).ri_IndexRelationDescs.add(nth)).rd_id;
                if let Some(condition) = condition_of(oid, (*index).ii_Predicate) {
                    (*index).ii_PredicateState = condition;
                }
            }
        }
    }
}

/// Spares a partition the check of rows that were routed to it: the executor does not check them either, unless a
/// trigger may have changed them meanwhile.
///
/// # Safety
/// `partition` must be open.
pub unsafe fn trust_routing(partition: *mut pg_sys::ResultRelInfo) {
    // SAFETY: the triggers are those of the open partition.
    unsafe {
        let triggers = (*partition).ri_TrigDesc;
        if triggers.is_null() || !(*triggers).trig_insert_before_row {
            (*partition).ri_PartitionCheckExpr = always();
        }
    }
}

unsafe fn condition_of(index: Oid, predicate: *mut pg_sys::List) -> Option<Compiled> {
    if let Some(known) = CONDITIONS.with_borrow(|conditions| conditions.get(&index).copied()) {
        return known;
    }
    let is_own = OWN
        .iter()
        .any(|name| catalog::relation(name).is_ok_and(|own| own == index));
    // SAFETY: the condition is copied before it is compiled.
    let condition = is_own.then(|| unsafe {
        compile(|| {
            let copy = pg_sys::copyObjectImpl(predicate.cast());
            pg_sys::ExecInitQual(pg_sys::expression_planner(copy.cast()).cast(), null_mut())
        })
    });
    CONDITIONS.with_borrow_mut(|conditions| conditions.insert(index, condition));
    condition
}

fn always() -> Compiled {
    // SAFETY: a constant needs nothing that could go away.
    let always = TRUE.get().unwrap_or_else(|| unsafe {
        compile(|| pg_sys::ExecInitExpr(pg_sys::makeBoolConst(true, false).cast(), null_mut()))
    });
    TRUE.set(Some(always));
    always
}

/// What is made here is kept; after an error it goes with what ran.
unsafe fn compile(make: impl FnOnce() -> Compiled) -> Compiled {
    // SAFETY: the memory is handed to the connection once all is in it.
    unsafe {
        let memory = pg_sys::AllocSetContextCreateExtended(
            pg_sys::CurrentMemoryContext,
            c"turnstile condition".as_ptr(),
            0,
            1024,
            8192,
        );
        let before = pg_sys::MemoryContextSwitchTo(memory);
        let compiled = make();
        pg_sys::MemoryContextSwitchTo(before);
        pg_sys::MemoryContextSetParent(memory, pg_sys::TopMemoryContext);
        compiled
    }
}
