//! Runs what belongs to a function's owner with his rights, where SECURITY DEFINER cannot: in a procedure that
//! ends transactions, and in a function that has to know its caller.

use crate::error::{Result, internal};
use pgrx::pg_catalog::pg_proc::PgProc;
use pgrx::pg_sys::{self, Datum};

/// The name of the role whose rights hold, as a `name`.
pub fn caller() -> Option<Datum> {
    // SAFETY: reads the backend's state and the catalog; the function takes no arguments.
    unsafe { pgrx::direct_function_call_as_datum(pg_sys::current_user, &[]) }
}

/// Whose rights a procedure's statements have.
#[derive(Clone, Copy)]
pub struct Owner(pg_sys::Oid);

impl Owner {
    pub fn of_function(function: pg_sys::Oid) -> Result<Self> {
        let function = PgProc::new(function).ok_or_else(|| internal("the procedure is gone"))?;
        Ok(Self(function.proowner()))
    }

    /// Runs `work` as the owner with the search path pinned. An error aborts the transaction, which undoes both.
    pub fn run<R>(self, work: impl FnOnce() -> Result<R>) -> Result<R> {
        let mut user = pg_sys::InvalidOid;
        let mut context = 0;
        // SAFETY: as fmgr_security_definer does it.
        let level = unsafe {
            pg_sys::GetUserIdAndSecContext(&mut user, &mut context);
            let local = pg_sys::SECURITY_LOCAL_USERID_CHANGE.cast_signed();
            pg_sys::SetUserIdAndSecContext(self.0, context | local);
            let level = pg_sys::NewGUCNestLevel();
            pg_sys::set_config_option(
                c"search_path".as_ptr(),
                c"pg_catalog, pg_temp".as_ptr(),
                pg_sys::GucContext::PGC_USERSET,
                pg_sys::GucSource::PGC_S_SESSION,
                pg_sys::GucAction::GUC_ACTION_SAVE,
                true,
                0,
                false,
            );
            level
        };
        let result = work()?;
        // SAFETY: restores what was saved above.
        unsafe {
            pg_sys::AtEOXact_GUC(true, level);
            pg_sys::SetUserIdAndSecContext(user, context);
        }
        Ok(result)
    }
}
