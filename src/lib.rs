//! Turnstile: a multi-tenant job queue inside PostgreSQL.
//!
//! Tables are the truth; memory is the dispatcher; one row trigger connects them. In reading order:

mod ageing; // how long jobs have waited
mod api; // one file a verb
mod backlog; // how many jobs may wait
mod call; // arguments and results of SQL functions
mod catalog; // the extension's own tables
mod charges; // places in backlogs
mod check; // memory compared with the tables
mod dropped; // what sleepers hear of DROP EXTENSION
mod due; // jobs whose time has come
mod errands; // what claims do in passing
mod error; // what can go wrong
mod foreign_code; // code of users that runs when rows are written
mod job_triggers; // what a changed job means to the scheduler
mod jsonb; // values inside of a jsonb
mod lane; // the keys of lanes and gates
mod lease; // how long a claim holds a job
mod limits; // limits of gates, read when a claim first meets them
mod listen; // channels, and what a claim in vain leaves for their listeners
mod notifier; // tells listeners of work
mod overflow; // more lanes than fit
mod owner; // the connection that a run is bound to
mod pending; // what the open transaction has changed
mod permission; // what the caller may do
mod plan; // statements that are run
mod publish; // trigger and callbacks: tables -> scheduler
mod raised; // errors of the server, as they were raised
mod rebuild; // tables -> scheduler, all at once
mod rescue; // runs that nobody is at any more
mod rights; // the caller, and the owner's rights
mod routes; // which queue the jobs of a kind go to
mod row; // a job as the scheduler sees it
mod schema; // the SQL that CREATE EXTENSION runs
mod seeded; // mechanisms that test builds can leave out
mod server; // time, backend, transaction
mod settings; // what an administrator can set at server start
mod shmem; // one scheduler per database in shared memory
mod sleep; // until there is work
mod snapshot; // what is committed at a moment
mod statement; // prepared statements
mod table; // rows found and changed without a plan
mod trigger; // what a trigger function is told
mod tuple; // a row as stored
mod unique; // how long a job holds its unique key

use pgrx::{pg_guard, pg_sys};

pgrx::pg_module_magic!(name, version);

/// Called when the library is loaded: by the postmaster, or too late by a backend.
#[pg_guard]
pub extern "C-unwind" fn _PG_init() {
    // SAFETY: a flag of the process.
    if !unsafe { pg_sys::process_shared_preload_libraries_in_progress } {
        error::not_preloaded().raise();
    }
    settings::register();
    shmem::install_hooks();
    publish::register_callbacks();
    notifier::register();
    catalog::register_callbacks();
    dropped::register();
    permission::register_callbacks();
}
