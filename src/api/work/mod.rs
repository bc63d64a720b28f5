//! Verbs for workers.

pub mod alive;
pub mod await_children;
pub mod claim;
pub mod claim_own;
pub mod claimer;
pub mod complete;
pub mod endpoint;
pub mod fail;
pub mod heartbeat_many;
pub mod listen_channel;
pub mod many;
pub mod put_back;
pub mod wait;
pub mod wait_for_end;

use crate::pg::functions::{sql_function, sql_verb};

sql_verb!(
    turnstile_claim_next,
    pg_finfo_turnstile_claim_next,
    claim::claim_next
);
sql_verb!(turnstile_claim, pg_finfo_turnstile_claim, claim::claim);
sql_verb!(
    turnstile_claim_own,
    pg_finfo_turnstile_claim_own,
    claim_own::claim_own
);
sql_verb!(
    turnstile_await_children,
    pg_finfo_turnstile_await_children,
    await_children::await_children
);
sql_function!(
    turnstile_wait_for_end,
    pg_finfo_turnstile_wait_for_end,
    wait_for_end::wait_for_end
);
sql_verb!(
    turnstile_complete,
    pg_finfo_turnstile_complete,
    complete::complete
);
sql_verb!(
    turnstile_complete_many,
    pg_finfo_turnstile_complete_many,
    complete::complete_many
);
sql_verb!(
    turnstile_complete_and_claim_next,
    pg_finfo_turnstile_complete_and_claim_next,
    complete::complete_and_claim_next
);
sql_verb!(
    turnstile_complete_and_claim,
    pg_finfo_turnstile_complete_and_claim,
    complete::complete_and_claim
);
sql_verb!(
    turnstile_endpoint_of,
    pg_finfo_turnstile_endpoint_of,
    endpoint::endpoint_of
);
sql_verb!(
    turnstile_report_endpoint,
    pg_finfo_turnstile_report_endpoint,
    endpoint::report_endpoint
);
sql_verb!(turnstile_fail, pg_finfo_turnstile_fail, fail::fail);
sql_verb!(
    turnstile_release,
    pg_finfo_turnstile_release,
    put_back::release
);
sql_verb!(
    turnstile_snooze,
    pg_finfo_turnstile_snooze,
    put_back::snooze
);
sql_verb!(
    turnstile_heartbeat,
    pg_finfo_turnstile_heartbeat,
    alive::heartbeat
);
sql_verb!(
    turnstile_heartbeat_many,
    pg_finfo_turnstile_heartbeat_many,
    heartbeat_many::heartbeat_many
);
sql_verb!(
    turnstile_fail_many,
    pg_finfo_turnstile_fail_many,
    fail::fail_many
);
sql_verb!(
    turnstile_progress,
    pg_finfo_turnstile_progress,
    alive::progress
);
sql_function!(
    turnstile_wait_for_job,
    pg_finfo_turnstile_wait_for_job,
    wait::wait_for_job
);
sql_verb!(
    turnstile_listen_channel,
    pg_finfo_turnstile_listen_channel,
    listen_channel::listen_channel
);
