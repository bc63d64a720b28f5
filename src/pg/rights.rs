//! The rights with which statements run. The functions of `src/api` are SECURITY INVOKER, so that they know their
//! caller, and switch to the rights of their owner themselves; so does a procedure that ends transactions. See
//! docs/decisions/040-callers.md.

#![allow(unsafe_code, reason = "switches the user and pins settings")]

use crate::pg::catalog;
use crate::pg::error::{Result, internal};
use crate::pg::settings;
use crate::pg::unguarded;
use pgrx::pg_catalog::pg_proc::PgProc;
use pgrx::pg_sys::{self, Datum, FormData_pg_class, Oid};
use std::cell::{Cell, RefCell};
use std::ffi::CStr;

const PINNED: &CStr = c"pg_catalog, pg_temp";

/// A call that is under way with its owner's rights.
#[derive(Clone, Copy)]
struct Frame {
    /// The role whose EXECUTE was checked.
    caller: Oid,
    owner: Oid,
    /// The nesting level of settings, once the search path is pinned.
    level: Option<i32>,
}

thread_local! {
    static FRAME: Cell<Option<Frame>> = const { Cell::new(None) };
    /// Owners of functions, as of a version of the catalog.
    static OWNERS: RefCell<(u64, Vec<(Oid, Oid)>)> = const { RefCell::new((0, Vec::new())) };
    static TABLE_OWNER: Cell<(u64, Oid)> = const { Cell::new((0, pg_sys::InvalidOid)) };
}

/// Restores the frame of the enclosing call, also after an error.
struct Around(Option<Frame>);

impl Drop for Around {
    fn drop(&mut self) {
        FRAME.set(self.0);
    }
}

/// Runs a call with the rights of the function's owner. An error aborts the transaction or the savepoint, which undoes both the
/// change of user and that of settings.
pub fn as_owner<R>(function: Oid, work: impl FnOnce() -> Result<R>) -> Result<R> {
    let owner = owner_of_function(function)?;
    let frame = Frame {
        caller: current_user(),
        owner,
        level: None,
    };
    let _around = Around(FRAME.replace(Some(frame)));
    as_role(owner, || {
        let result = work()?;
        if let Some(level) = FRAME.get().and_then(|frame| frame.level) {
            // SAFETY: the level was opened by `pin` for this frame.
            unsafe { pg_sys::AtEOXact_GUC(true, level) };
        }
        Ok(result)
    })
}

/// Runs `work` with the rights of another role, as a call that it makes itself. An error undoes the change of user, as above.
pub fn as_role<R>(role: Oid, work: impl FnOnce() -> Result<R>) -> Result<R> {
    let (user, context) = user_and_context();
    set_user(
        role,
        context | pg_sys::SECURITY_LOCAL_USERID_CHANGE.cast_signed(),
    );
    let result = work()?;
    set_user(user, context);
    Ok(result)
}

/// Pins the search path for the rest of the call. Must be called before anything runs that looks up names or may be a
/// user's code: a plan, a trigger, an index expression. Most calls need none of it, and a setting costs more than the
/// rest of the switch.
pub fn pin() {
    let Some(frame) = FRAME.get().filter(|frame| frame.level.is_none()) else {
        return;
    };
    if is_pinned() {
        return;
    }
    FRAME.set(Some(Frame {
        level: Some(pin_search_path()),
        ..frame
    }));
}

/// The role that made this call, of a verb or of a trigger.
pub fn caller() -> Oid {
    FRAME.get().map_or_else(current_user, |frame| frame.caller)
}

/// The name of [`caller`], as a `name`.
pub fn caller_name() -> Option<Datum> {
    // SAFETY: a look-up in the catalog cache, which gives a C string; the function takes one.
    unsafe {
        let name = pg_sys::GetUserNameFromId(caller(), true);
        (!name.is_null())
            .then(|| {
                pgrx::direct_function_call_as_datum(pg_sys::namein, &[Some(Datum::from(name))])
            })
            .flatten()
    }
}

/// Whether a change is one of a call's own, made with the rights of its owner.
pub fn is_own_change() -> bool {
    FRAME
        .get()
        .is_some_and(|frame| frame.owner == current_user())
}

/// The session's role, which SET ROLE may have changed, whatever functions it has called.
pub fn outer_user() -> Oid {
    // SAFETY: reads the backend's state.
    unsafe { pg_sys::GetOuterUserId() }
}

pub fn current_user() -> Oid {
    unguarded::GetUserId()
}

/// Whether a role may do everything: a superuser, the owner of the jobs, or a role with the owner's rights.
pub fn is_owner(role: Oid) -> Result<bool> {
    let owner = match FRAME.get() {
        Some(frame) => frame.owner,
        None => owner_of_jobs()?,
    };
    // SAFETY: look-ups in the catalog cache, inside a transaction.
    Ok(unsafe { pg_sys::has_privs_of_role(role, owner) })
}

fn owner_of_function(function: Oid) -> Result<Oid> {
    let version = catalog::version();
    let known = OWNERS.with_borrow(|(of, owners)| {
        let mut owners = owners.iter().filter(|_| *of == version);
        owners
            .find(|known| known.0 == function)
            .map(|known| known.1)
    });
    if let Some(owner) = known {
        return Ok(owner);
    }
    let found = PgProc::new(function).ok_or_else(|| internal("the function is gone"))?;
    let owner = found.proowner();
    OWNERS.with_borrow_mut(|(of, owners)| {
        if std::mem::replace(of, version) != version {
            owners.clear();
        }
        owners.push((function, owner));
    });
    Ok(owner)
}

fn owner_of_jobs() -> Result<Oid> {
    loop {
        let table = catalog::job_table()?;
        let version = catalog::version();
        let (of, known) = TABLE_OWNER.get();
        if of == version {
            return Ok(known);
        }
        catalog::watch(table);
        if let Some(owner) = catalog::read(table, |row: &FormData_pg_class| row.relowner) {
            TABLE_OWNER.set((version, owner));
            return Ok(owner);
        }
        // It was dropped: a caller that locks the table gets that error.
        catalog::lock(c"job", pg_sys::AccessShareLock)?;
    }
}

fn user_and_context() -> (Oid, i32) {
    let (mut user, mut context) = (pg_sys::InvalidOid, 0);
    // SAFETY: fills in both.
    unsafe { unguarded::GetUserIdAndSecContext(&mut user, &mut context) };
    (user, context)
}

fn set_user(user: Oid, context: i32) {
    // SAFETY: as fmgr_security_definer does it; each abort restores what its transaction or savepoint began with.
    unsafe { unguarded::SetUserIdAndSecContext(user, context) };
}

fn is_pinned() -> bool {
    // SAFETY: the server keeps the setting's value as a string.
    unsafe {
        let path = pg_sys::namespace_search_path;
        !path.is_null() && CStr::from_ptr(path) == PINNED
    }
}

/// Runs `work` with the search path pinned.
pub fn with_pinned_path<R>(work: impl FnOnce() -> Result<R>) -> Result<R> {
    let level = pin_search_path();
    let result = work()?;
    // SAFETY: the level was opened above.
    unsafe { pg_sys::AtEOXact_GUC(true, level) };
    Ok(result)
}

/// The level of settings to close afterwards.
fn pin_search_path() -> i32 {
    // SAFETY: as fmgr_security_definer does it.
    unsafe {
        let level = pg_sys::NewGUCNestLevel();
        settings::set_in_level(c"search_path", PINNED);
        level
    }
}

/// The role with whose rights a procedure's statements run.
#[derive(Clone, Copy)]
pub struct Owner(Oid);

impl Owner {
    pub fn of_function(function: Oid) -> Result<Self> {
        owner_of_function(function).map(Self)
    }

    /// The owner of the jobs, which may read all tables.
    pub fn of_jobs() -> Result<Self> {
        owner_of_jobs().map(Self)
    }

    /// Runs `work` as the owner with the search path pinned, and `end` as well, which ends the transaction: a deferred
    /// trigger is a user's code, too.
    pub fn run_to_commit<R>(
        self,
        work: impl FnOnce() -> Result<R>,
        end: impl FnOnce(),
    ) -> Result<R> {
        as_role(self.0, || {
            // The end of the transaction closes the level.
            pin_search_path();
            let result = work()?;
            end();
            Ok(result)
        })
    }

    /// Runs `work` as the owner with the search path pinned. An error aborts the transaction, which undoes both.
    pub fn run<R>(self, work: impl FnOnce() -> Result<R>) -> Result<R> {
        as_role(self.0, || with_pinned_path(work))
    }
}
