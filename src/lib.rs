//! Turnstile: a multi-tenant job queue inside PostgreSQL.
//!
//! Tables are the truth; memory is the dispatcher; one row trigger connects them. Each folder uses those above it only:

mod api;
mod claims; // which job is next
mod job; // a job's row, lane, queue and unique key
mod permission; // what the caller may do
mod pg; // what is known of PostgreSQL
mod runs; // how a run starts and ends
mod shmem; // one scheduler per database in shared memory
mod sync; // tables -> memory
mod table; // rows found and changed without a plan, and the row triggers
mod transaction; // what the open transaction has changed
mod upkeep; // what claims do in passing
mod waiting; // workers that wait for jobs // one file a verb: produce, work, operate, maintain

mod schema; // the SQL that CREATE EXTENSION runs

use pgrx::{pg_guard, pg_sys};

pgrx::pg_module_magic!(name, version);

/// Called when the library is loaded: by the postmaster, or, too late, by a backend.
#[pg_guard]
#[allow(unsafe_code, reason = "a function that the server calls by its name")]
pub extern "C-unwind" fn _PG_init() {
    // SAFETY: a flag of the process.
    if !unsafe { pg_sys::process_shared_preload_libraries_in_progress } {
        pg::error::not_preloaded().raise();
    }
    pg::settings::register();
    shmem::install_hooks();
    sync::transaction_end::register_callbacks();
    waiting::notifier::register();
    pg::catalog::register_callbacks();
    sync::dropped::register();
    permission::register_callbacks();
}
