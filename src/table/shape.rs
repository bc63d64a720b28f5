//! What is known of `turnstile.job`, until something about it changes: whether its rows have no other triggers than
//! the extension's own, and which of its indexes are as the extension made them.

use crate::api::{turnstile_job_changed, turnstile_place_job};
use crate::call::datum;
use crate::catalog;
use crate::row::column;
use crate::seeded::{Seeded, armed};
use crate::tuple::RawRow;
use pgrx::pg_sys::{self, Oid};
use std::cell::RefCell;
use std::ffi::CStr;
use std::mem::zeroed;
use std::rc::Rc;

/// Whether an index has an entry for a row.
pub type Condition = fn(&RawRow) -> bool;

/// The columns that conditions look at come no later than this.
pub const COLUMNS: usize = column::OWNER_PID;

pub struct KnownIndex {
    pub oid: Oid,
    /// None for one that is not known, which is left to the executor.
    pub condition: Option<Condition>,
}

/// An index of the extension: its name, how its definition begins, how it ends and what that means. Where a user has set
/// parameters of it, they come in between.
struct OwnIndex(&'static CStr, &'static str, &'static str, Condition);

const OWN_INDEXES: [OwnIndex; 5] = [
    OwnIndex(
        c"job_pkey",
        "CREATE UNIQUE INDEX job_pkey ON turnstile.job USING btree (id)",
        "",
        |_| true,
    ),
    OwnIndex(
        c"job_claim_idx",
        "CREATE INDEX job_claim_idx ON turnstile.job USING btree (lane, \"position\")",
        " WHERE (state = 'available'::text)",
        |row| row.text(column::STATE) == Some("available"),
    ),
    OwnIndex(
        c"job_due_idx",
        "CREATE INDEX job_due_idx ON turnstile.job USING btree (run_at, \"position\")",
        " WHERE (state = ANY (ARRAY['scheduled'::text, 'retryable'::text]))",
        |row| matches!(row.text(column::STATE), Some("scheduled" | "retryable")),
    ),
    OwnIndex(
        c"job_lease_idx",
        "CREATE INDEX job_lease_idx ON turnstile.job USING btree (lease_expires_at)",
        " WHERE (state = 'running'::text)",
        |row| row.is_running(),
    ),
    OwnIndex(
        c"job_owner_idx",
        "CREATE INDEX job_owner_idx ON turnstile.job USING btree (owner_pid)",
        " WHERE ((state = 'running'::text) AND (owner_pid IS NOT NULL))",
        |row| row.is_running() && row.raw(column::OWNER_PID).is_some(),
    ),
];

/// The triggers of the extension that fire for rows: their function and when they fire.
const OWN_TRIGGERS: [(Function, u32); 2] = [
    (
        turnstile_place_job,
        pg_sys::TRIGGER_TYPE_ROW
            | pg_sys::TRIGGER_TYPE_BEFORE
            | pg_sys::TRIGGER_TYPE_INSERT
            | pg_sys::TRIGGER_TYPE_UPDATE,
    ),
    (
        turnstile_job_changed,
        pg_sys::TRIGGER_TYPE_ROW
            | pg_sys::TRIGGER_TYPE_INSERT
            | pg_sys::TRIGGER_TYPE_UPDATE
            | pg_sys::TRIGGER_TYPE_DELETE,
    ),
];
const OF_CHANGES: u32 =
    pg_sys::TRIGGER_TYPE_INSERT | pg_sys::TRIGGER_TYPE_UPDATE | pg_sys::TRIGGER_TYPE_DELETE;
/// ENABLE ALWAYS: whatever session_replication_role is.
const FIRES_ALWAYS: u8 = b'A';

type Function = unsafe extern "C-unwind" fn(pg_sys::FunctionCallInfo) -> pg_sys::Datum;
/// The indexes, unless rows have to go the usual way.
type Shape = Option<Rc<[KnownIndex]>>;

thread_local! {
    /// With the table and the version of the catalog that it is of.
    static KEPT: RefCell<(Oid, u64, Shape)> = const { RefCell::new((pg_sys::InvalidOid, 0, None)) };
}

/// The indexes of a table whose rows have no triggers but those that [`crate::job_triggers`] stands for; otherwise nothing.
///
/// # Safety
/// The relation must be open, with a lock.
pub unsafe fn of(relation: pg_sys::Relation) -> Shape {
    // SAFETY: as the caller says.
    let table = unsafe { (*relation).rd_id };
    let version = catalog::version();
    let kept = KEPT.with_borrow(|(of, at, shape)| {
        let is_kept = *of == table && *at == version;
        is_kept.then(|| shape.clone())
    });
    if let Some(shape) = kept {
        return shape;
    }
    if catalog::job_table().is_ok_and(|job_table| job_table != table) {
        return None;
    }
    // SAFETY: as above.
    let shape = unsafe { has_only_own_triggers(relation).then(|| indexes_of(relation)) };
    KEPT.with_borrow_mut(|kept| *kept = (table, version, shape.clone()));
    shape
}

unsafe fn has_only_own_triggers(relation: pg_sys::Relation) -> bool {
    if armed(Seeded::PassOverTriggers) {
        return true;
    }
    // SAFETY: what the open relation says of itself.
    unsafe {
        let constraints = (*(*relation).rd_att).constr;
        if !constraints.is_null() && (*constraints).has_generated_stored {
            return false;
        }
        let triggers = (*relation).trigdesc;
        if triggers.is_null() {
            return false;
        }
        let count = usize::try_from((*triggers).numtriggers).unwrap_or(0);
        let mut own = [0; OWN_TRIGGERS.len()];
        for trigger in std::slice::from_raw_parts((*triggers).triggers, count) {
            let fires = u32::from(trigger.tgtype.cast_unsigned());
            if fires & OF_CHANGES == 0 {
                continue;
            }
            let is_usual = trigger.tgenabled.cast_unsigned() != FIRES_ALWAYS
                || trigger.tgdeferrable
                || !trigger.tgqual.is_null();
            let function = address_of(trigger.tgfoid);
            let mut each = OWN_TRIGGERS.iter().zip(&mut own);
            let found = each.find(|((known, when), _)| {
                function == Some(*known as usize) && *when == fires && !is_usual
            });
            let Some((_, seen)) = found else {
                return false;
            };
            *seen += 1;
        }
        own.iter().all(|&times| times == 1)
    }
}

/// Where the code of a function is.
unsafe fn address_of(function: Oid) -> Option<usize> {
    // SAFETY: the function exists, as a trigger calls it.
    unsafe {
        let mut info: pg_sys::FmgrInfo = zeroed();
        pg_sys::fmgr_info(function, &mut info);
        info.fn_addr.map(|address| address as usize)
    }
}

unsafe fn indexes_of(relation: pg_sys::Relation) -> Rc<[KnownIndex]> {
    // SAFETY: the list is a copy.
    let oids = unsafe {
        let list = pg_sys::RelationGetIndexList(relation);
        pgrx::memcx::current_context(|context| {
            pgrx::list::List::<Oid>::downcast_ptr_in_memcx(list, context)
                .map(|list| list.iter().copied().collect::<Vec<_>>())
        })
    };
    let known = |oid| KnownIndex {
        oid,
        condition: condition_of(oid),
    };
    oids.unwrap_or_default().into_iter().map(known).collect()
}

fn condition_of(index: Oid) -> Option<Condition> {
    let is_own = |own: &&OwnIndex| catalog::relation(own.0).is_ok_and(|relation| relation == index);
    let OwnIndex(_, start, end, condition) = OWN_INDEXES.iter().find(is_own)?;
    if armed(Seeded::TrustIndexName) {
        return Some(*condition);
    }
    // SAFETY: the function takes the OID of an index.
    let definition: Option<String> =
        unsafe { pgrx::direct_function_call(pg_sys::pg_get_indexdef, &[datum(index)]) };
    let definition = definition?;
    let parameters = definition.strip_prefix(start)?.strip_suffix(end)?;
    (parameters.is_empty() || parameters.starts_with(" WITH (")).then_some(*condition)
}
