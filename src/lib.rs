//! Turnstile: a multi-tenant job queue inside PostgreSQL.
//!
//! Tables are the truth; memory is the dispatcher; one row trigger connects them. Each folder uses only those above it in this map
//! (a test holds it):
//!
//! | folder | what it is for |
//! |---|---|
//! | `pg` | what is known of PostgreSQL: calls, rows, catalog, statements, rights of the owner; what differs between its versions |
//! | `shmem` | a scheduler for each database in shared memory, its locks and latches |
//! | `transaction` | what the open transaction has changed, by savepoint |
//! | `job` | a job's row and columns, the keys of its lane, its queue, its unique key |
//! | `permission` | what the caller may do |
//! | `table` | rows found and changed without a plan, and the row triggers |
//! | `sync` | from the tables to memory: the end of a transaction, rebuild, check, settings of gates |
//! | `waiting` | workers that wait for jobs |
//! | `runs` | how a run starts and ends |
//! | `recurring` | when recurring jobs fire |
//! | `upkeep` | what claims do in passing: rescue, promotion |
//! | `claims` | which job is next |
//! | `outlook` | why a job waits, and when it will start |
//! | `tail` | jobs that have ended, for who follows them |
//! | `api` | the functions that users call: produce, work, operate, maintain |

mod api;
mod claims;
mod job;
mod outlook;
mod permission;
mod pg;
mod recurring;
mod runs;
mod shmem;
mod sync;
mod table;
mod tail;
mod transaction;
mod upkeep;
mod waiting;

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
    pg::estimates::register();
    shmem::hooks::install();
    sync::transaction_end::register_callbacks();
    waiting::notifier::register();
    pg::catalog::register_callbacks();
    pg::catalog::share(shmem::FOUND);
    sync::dropped::register();
    permission::register_callbacks();
}
