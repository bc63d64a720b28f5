//! What an open relation says about itself. Everything is copied before a call that may process invalidations: those
//! replace what the server's own cache of the relation points to.

#![allow(unsafe_code, reason = "reads what an open relation points to")]

use crate::pg::compat;
use pgrx::pg_sys::{self, Oid};
use std::ffi::CStr;
use std::mem::zeroed;

/// A relation that this transaction has locked.
pub struct Opened(pg_sys::Relation);

/// A trigger that fires for rows or statements that change something.
pub struct Trigger {
    pub name: String,
    function: Oid,
    pub fires: u32,
    /// ENABLE ALWAYS (whatever session_replication_role is), for all rows and at once.
    pub is_usual: bool,
}

/// A column by which columns of another table can be found.
#[derive(PartialEq, Eq)]
pub struct Column {
    pub name: String,
    pub kind: Oid,
    pub modifier: i32,
}

const CHANGES: u32 =
    pg_sys::TRIGGER_TYPE_INSERT | pg_sys::TRIGGER_TYPE_UPDATE | pg_sys::TRIGGER_TYPE_DELETE;
/// The server's InvalidSubTransactionId.
const NO_SAVEPOINT: pg_sys::SubTransactionId = 0;
const FIRES_ALWAYS: u8 = b'A';
const DISABLED: u8 = b'D';

impl Opened {
    /// The relation must be locked by this transaction.
    pub fn of(relation: Oid) -> Self {
        // SAFETY: the lock keeps it; `drop` closes it.
        Self(unsafe { pg_sys::relation_open(relation, pg_sys::NoLock.cast_signed()) })
    }

    pub fn raw(&self) -> pg_sys::Relation {
        self.0
    }

    pub fn oid(&self) -> Oid {
        // SAFETY: the relation is open, here and in what follows.
        unsafe { (*self.0).rd_id }
    }

    fn form(&self) -> &pg_sys::FormData_pg_class {
        // SAFETY: the relation is open; nothing is called while the reference lives.
        unsafe { &*(*self.0).rd_rel }
    }

    pub fn is_partition(&self) -> bool {
        self.form().relispartition
    }

    pub fn is_partitioned(&self) -> bool {
        self.form().relkind.cast_unsigned() == pg_sys::RELKIND_PARTITIONED_TABLE
    }

    /// What keeps rows of a plain table from being written directly, apart from triggers.
    pub fn obstacle(&self) -> Option<&'static str> {
        // SAFETY: what the open relation says of itself.
        let (is_heap, is_generated) = unsafe {
            (
                (*self.0).rd_tableam == pg_sys::GetHeapamTableAmRoutine(),
                compat::has_generated_columns((*self.0).rd_att),
            )
        };
        if self.form().relkind.cast_unsigned() != pg_sys::RELKIND_RELATION || !is_heap {
            Some("it is no table of the server's own kind")
        } else if self.has_policies() {
            Some("it has row level security")
        } else if self.has_rules() {
            Some("it has a rule")
        } else if is_generated {
            Some("it has a generated column")
        } else {
            None
        }
    }

    pub fn has_rules(&self) -> bool {
        // SAFETY: what the open relation says of itself.
        unsafe {
            let rules = (*self.0).rd_rules;
            !rules.is_null() && (*rules).numLocks > 0
        }
    }

    /// Whether policies hold for the current user.
    pub fn has_policies(&self) -> bool {
        // SAFETY: a look-up in the catalog; nothing is raised.
        let policies = unsafe { pg_sys::check_enable_rls(self.oid(), Oid::INVALID, true) };
        policies == pg_sys::CheckEnableRlsResult::RLS_ENABLED.cast_signed()
    }

    /// Whether this transaction has rewritten the table: TRUNCATE, or a change of the table that rewrites it.
    pub fn has_new_storage(&self) -> bool {
        // SAFETY: what the open relation says of itself.
        unsafe { compat::first_new_storage(self.0) != NO_SAVEPOINT }
    }

    /// The triggers that may fire.
    pub fn triggers(&self) -> Vec<Trigger> {
        // SAFETY: the description has as many triggers as it says; it is read before anything else is called.
        unsafe {
            let triggers = (*self.0).trigdesc;
            if triggers.is_null() {
                return Vec::new();
            }
            let count = usize::try_from((*triggers).numtriggers).unwrap_or(0);
            let triggers = std::slice::from_raw_parts((*triggers).triggers, count);
            triggers
                .iter()
                .filter_map(|each| Trigger::of(each))
                .collect()
        }
    }

    /// The indexes, each with whether it can be searched.
    pub fn indexes(&self) -> Vec<(Oid, bool)> {
        // SAFETY: the list is a copy.
        let oids = unsafe {
            let list = pg_sys::RelationGetIndexList(self.0);
            pgrx::memcx::current_context(|context| {
                pgrx::list::List::<Oid>::downcast_ptr_in_memcx(list, context)
                    .map(|list| list.iter().copied().collect::<Vec<_>>())
            })
        };
        let oids = oids.unwrap_or_default().into_iter();
        oids.map(|oid| (oid, is_valid(oid))).collect()
    }

    /// The number of columns, dropped ones included.
    pub fn width(&self) -> usize {
        // SAFETY: what the open relation says of itself.
        usize::try_from(unsafe { (*(*self.0).rd_att).natts }).unwrap_or(0)
    }

    /// The columns (from 0) that must not be NULL.
    pub fn required_columns(&self) -> Vec<usize> {
        // SAFETY: the descriptor has as many columns as it says.
        let is_required =
            |&column: &usize| unsafe { (*compat::attribute((*self.0).rd_att, column)).attnotnull };
        (0..self.width()).filter(is_required).collect()
    }

    pub fn has_checks(&self) -> bool {
        // SAFETY: what the open relation says of itself.
        unsafe {
            let constraints = (*(*self.0).rd_att).constr;
            !constraints.is_null() && (*constraints).num_check > 0
        }
    }

    /// Whether a column (from 1) may have a default, of its own or of its type.
    pub fn may_have_default(&self, number: usize) -> bool {
        self.attribute(number).is_some_and(|attribute| {
            // No type that a server is born with has one.
            let is_of_server = u32::from(attribute.atttypid) < pg_sys::FirstUnpinnedObjectId;
            attribute.atthasdef || attribute.attidentity != 0 || !is_of_server
        })
    }

    /// A column (from 1); none if it was dropped.
    pub fn column(&self, number: usize) -> Option<Column> {
        self.attribute(number).map(|attribute| Column {
            // SAFETY: names end with a zero byte.
            name: unsafe { text(attribute.attname.data.as_ptr()) },
            kind: attribute.atttypid,
            modifier: attribute.atttypmod,
        })
    }

    fn attribute(&self, number: usize) -> Option<&pg_sys::FormData_pg_attribute> {
        if number == 0 || number > self.width() {
            return None;
        }
        // SAFETY: the descriptor has this column, and lives as long as the relation is open.
        let attribute = unsafe { &*compat::attribute((*self.0).rd_att, number - 1) };
        (!attribute.attisdropped).then_some(attribute)
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: opened in `of`; after an error the abort closes it.
            unsafe { pg_sys::relation_close(self.0, pg_sys::NoLock.cast_signed()) };
        }
    }
}

impl Trigger {
    /// # Safety
    /// The trigger must be one of an open relation.
    unsafe fn of(trigger: &pg_sys::Trigger) -> Option<Self> {
        let fires = u32::from(trigger.tgtype.cast_unsigned());
        let when = trigger.tgenabled.cast_unsigned();
        (fires & CHANGES != 0 && when != DISABLED).then(|| Self {
            // SAFETY: as the caller says.
            name: unsafe { text(trigger.tgname) },
            function: trigger.tgfoid,
            fires,
            is_usual: when == FIRES_ALWAYS && !trigger.tgdeferrable && trigger.tgqual.is_null(),
        })
    }

    /// Where the code of its function is.
    pub fn address(&self) -> Option<usize> {
        // SAFETY: the function exists, as the trigger needs it and its table is locked.
        unsafe {
            let mut info: pg_sys::FmgrInfo = zeroed();
            pg_sys::fmgr_info(self.function, &mut info);
            info.fn_addr.map(|address| address as usize)
        }
    }
}

fn is_valid(index: Oid) -> bool {
    // SAFETY: a look-up in the catalog; the table is locked, so the index stays until the transaction ends.
    unsafe { pg_sys::get_index_isvalid(index) }
}

/// Whether this transaction has created an open relation or rewritten it, so that what it sees there is its own.
///
/// # Safety
/// The relation must be open.
pub unsafe fn is_own(relation: pg_sys::Relation) -> bool {
    // SAFETY: as the caller says.
    unsafe {
        compat::first_new_storage(relation) != NO_SAVEPOINT
            || (*relation).rd_createSubid != NO_SAVEPOINT
    }
}

/// # Safety
/// It must be a C string.
unsafe fn text(text: *const std::ffi::c_char) -> String {
    // SAFETY: as the caller says.
    unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned()
}
