//! The connection that a run is bound to. When it ends, its backend says so in shared memory.

#![allow(
    unsafe_code,
    reason = "is called back by the server when a process ends"
)]

use crate::pg::server::this_backend;
use crate::shmem::{self, Owner};
use pgrx::{pg_guard, pg_sys};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    /// The table of the runs that were bound to this backend.
    static BOUND: Cell<Option<pg_sys::Oid>> = const { Cell::new(None) };
}

/// Binds runs of `job_table` to this backend.
pub fn bind(job_table: pg_sys::Oid) -> Owner {
    if BOUND.replace(Some(job_table)).is_none() {
        // SAFETY: the callback lives as long as the process. It is called once the backend's open
        // transaction has been undone, and before it loses its place among the backends, so that it can
        // still take a lock. After a crash it is not called, but the memory is new then.
        unsafe { pg_sys::on_shmem_exit(Some(at_exit), pg_sys::Datum::null()) };
    }
    let (pid, started_at) = this_backend();
    Owner { pid, started_at }
}

#[pg_guard]
unsafe extern "C-unwind" fn at_exit(_code: std::ffi::c_int, _arg: pg_sys::Datum) {
    let _ = catch_unwind(AssertUnwindSafe(report_end));
}

fn report_end() {
    let Some(job_table) = BOUND.take() else {
        return;
    };
    let (pid, started_at) = this_backend();
    let _ = shmem::with_existing(job_table, |memory| {
        let gone = shmem::Gone {
            owners: vec![Owner { pid, started_at }],
            look_at_all: false,
        };
        memory.state.gone.put_back(&gone, i64::MIN);
        Ok(())
    });
}
