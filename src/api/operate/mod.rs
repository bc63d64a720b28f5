//! Verbs for operators.

pub mod batch_figures;
pub mod batch_results;
pub mod cancel;
pub mod check_permission;
pub mod delete;
pub mod figures;
pub mod filter;
pub mod memory;
pub mod recent;
pub mod recent_failures;
pub mod reprioritize;
pub mod reroute;
pub mod retry;
pub mod running;
pub mod why;
pub mod workers;

use crate::pg::functions::{sql_function, sql_verb};

sql_verb!(
    turnstile_route_of,
    pg_finfo_turnstile_route_of,
    reroute::route_of
);
sql_verb!(
    turnstile_reroute,
    pg_finfo_turnstile_reroute,
    reroute::reroute
);
sql_function!(
    turnstile_memory_use,
    pg_finfo_turnstile_memory_use,
    memory::memory_use
);
sql_function!(
    turnstile_figures,
    pg_finfo_turnstile_figures,
    figures::figures
);
sql_function!(
    turnstile_batch_figures,
    pg_finfo_turnstile_batch_figures,
    batch_figures::batch_figures
);
sql_function!(
    turnstile_workers_seen,
    pg_finfo_turnstile_workers_seen,
    workers::workers_seen
);
sql_verb!(
    turnstile_running_jobs,
    pg_finfo_turnstile_running_jobs,
    running::running_jobs
);
sql_function!(
    turnstile_histogram_bounds,
    pg_finfo_turnstile_histogram_bounds,
    figures::histogram_bounds
);
sql_verb!(
    turnstile_stat_reset,
    pg_finfo_turnstile_stat_reset,
    figures::stat_reset
);
sql_verb!(
    turnstile_why_waiting,
    pg_finfo_turnstile_why_waiting,
    why::why_waiting
);
sql_verb!(
    turnstile_why_waiting_many,
    pg_finfo_turnstile_why_waiting_many,
    why::why_waiting_many
);
sql_verb!(
    turnstile_why_waiting_summary,
    pg_finfo_turnstile_why_waiting_summary,
    why::why_waiting_summary
);
sql_verb!(
    turnstile_wait_estimate,
    pg_finfo_turnstile_wait_estimate,
    why::wait_estimate
);
sql_verb!(
    turnstile_batch_results,
    pg_finfo_turnstile_batch_results,
    batch_results::batch_results
);
sql_verb!(turnstile_recent, pg_finfo_turnstile_recent, recent::recent);
sql_verb!(
    turnstile_recent_failures,
    pg_finfo_turnstile_recent_failures,
    recent_failures::recent_failures
);
sql_verb!(turnstile_cancel, pg_finfo_turnstile_cancel, cancel::cancel);
sql_verb!(
    turnstile_discard,
    pg_finfo_turnstile_discard,
    cancel::discard
);
sql_verb!(turnstile_retry, pg_finfo_turnstile_retry, retry::retry);
sql_verb!(
    turnstile_cancel_many,
    pg_finfo_turnstile_cancel_many,
    cancel::cancel_many
);
sql_verb!(
    turnstile_discard_many,
    pg_finfo_turnstile_discard_many,
    cancel::discard_many
);
sql_verb!(
    turnstile_delete_many,
    pg_finfo_turnstile_delete_many,
    delete::delete_many
);
sql_verb!(
    turnstile_retry_many,
    pg_finfo_turnstile_retry_many,
    retry::retry_many
);
sql_verb!(
    turnstile_reprioritize,
    pg_finfo_turnstile_reprioritize,
    reprioritize::reprioritize
);
sql_function!(
    turnstile_check_permission,
    pg_finfo_turnstile_check_permission,
    check_permission::check_permission
);
