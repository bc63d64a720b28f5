//! The verbs, one file each: they check the arguments, call the code below, and map errors. This module lists all
//! that SQL can call, except the row triggers of [`crate::table`].

mod arguments;
mod maintain;
mod operate;
mod produce;
mod work;

use crate::permission;
use crate::pg::call::{sql_function, sql_verb};
use crate::sync::{gate_keys, setting_triggers};

// Produce

sql_verb!(
    turnstile_schedule,
    pg_finfo_turnstile_schedule,
    produce::recurring::schedule
);
sql_verb!(
    turnstile_unschedule,
    pg_finfo_turnstile_unschedule,
    produce::recurring::unschedule
);
sql_verb!(
    turnstile_enqueue,
    pg_finfo_turnstile_enqueue,
    produce::enqueue::enqueue
);
sql_verb!(
    turnstile_enqueue_many,
    pg_finfo_turnstile_enqueue_many,
    produce::enqueue_many::enqueue_many
);

// Work

sql_verb!(
    turnstile_claim_next,
    pg_finfo_turnstile_claim_next,
    work::claim::claim_next
);
sql_verb!(
    turnstile_claim,
    pg_finfo_turnstile_claim,
    work::claim::claim
);
sql_verb!(
    turnstile_complete,
    pg_finfo_turnstile_complete,
    work::complete::complete
);
sql_verb!(
    turnstile_complete_many,
    pg_finfo_turnstile_complete_many,
    work::complete::complete_many
);
sql_verb!(
    turnstile_complete_and_claim_next,
    pg_finfo_turnstile_complete_and_claim_next,
    work::complete::complete_and_claim_next
);
sql_verb!(turnstile_fail, pg_finfo_turnstile_fail, work::fail::fail);
sql_verb!(
    turnstile_release,
    pg_finfo_turnstile_release,
    work::put_back::release
);
sql_verb!(
    turnstile_snooze,
    pg_finfo_turnstile_snooze,
    work::put_back::snooze
);
sql_verb!(
    turnstile_heartbeat,
    pg_finfo_turnstile_heartbeat,
    work::alive::heartbeat
);
sql_verb!(
    turnstile_progress,
    pg_finfo_turnstile_progress,
    work::alive::progress
);
sql_function!(
    turnstile_wait_for_job,
    pg_finfo_turnstile_wait_for_job,
    work::wait::wait_for_job
);
sql_verb!(
    turnstile_listen_channel,
    pg_finfo_turnstile_listen_channel,
    work::listen_channel::listen_channel
);

// Operate

sql_verb!(
    turnstile_route_of,
    pg_finfo_turnstile_route_of,
    operate::reroute::route_of
);
sql_verb!(
    turnstile_reroute,
    pg_finfo_turnstile_reroute,
    operate::reroute::reroute
);
sql_verb!(
    turnstile_cancel,
    pg_finfo_turnstile_cancel,
    operate::cancel::cancel
);
sql_verb!(
    turnstile_discard,
    pg_finfo_turnstile_discard,
    operate::cancel::discard
);
sql_verb!(
    turnstile_retry,
    pg_finfo_turnstile_retry,
    operate::retry::retry
);
sql_verb!(
    turnstile_cancel_many,
    pg_finfo_turnstile_cancel_many,
    operate::cancel::cancel_many
);
sql_verb!(
    turnstile_discard_many,
    pg_finfo_turnstile_discard_many,
    operate::cancel::discard_many
);
sql_verb!(
    turnstile_retry_many,
    pg_finfo_turnstile_retry_many,
    operate::retry::retry_many
);
sql_verb!(
    turnstile_reprioritize,
    pg_finfo_turnstile_reprioritize,
    operate::retry::reprioritize
);
sql_function!(
    turnstile_check_permission,
    pg_finfo_turnstile_check_permission,
    operate::check_permission::check_permission
);

// Maintain

sql_verb!(
    turnstile_prune_unique_keys,
    pg_finfo_turnstile_prune_unique_keys,
    maintain::prune::prune_unique_keys
);
sql_verb!(
    turnstile_rescue,
    pg_finfo_turnstile_rescue,
    maintain::rescue::rescue
);
sql_verb!(
    turnstile_promote,
    pg_finfo_turnstile_promote,
    maintain::rescue::promote
);
sql_verb!(
    turnstile_check,
    pg_finfo_turnstile_check,
    maintain::check::check
);
sql_verb!(
    turnstile_rebuild,
    pg_finfo_turnstile_rebuild,
    maintain::check::rebuild
);

// Triggers, and what the tables and the script call

sql_function!(
    turnstile_version,
    pg_finfo_turnstile_version,
    gate_keys::version
);
sql_function!(
    turnstile_gate_key,
    pg_finfo_turnstile_gate_key,
    gate_keys::gate
);
sql_function!(
    turnstile_session_gate,
    pg_finfo_turnstile_session_gate,
    gate_keys::session_gate
);
sql_function!(
    turnstile_set_gate,
    pg_finfo_turnstile_set_gate,
    gate_keys::set_gate
);
sql_function!(
    turnstile_job_truncated,
    pg_finfo_turnstile_job_truncated,
    setting_triggers::job_truncated
);
sql_function!(
    turnstile_setting_changed,
    pg_finfo_turnstile_setting_changed,
    setting_triggers::setting_changed
);
sql_function!(
    turnstile_settings_truncated,
    pg_finfo_turnstile_settings_truncated,
    setting_triggers::settings_truncated
);
sql_function!(
    turnstile_routes_changed,
    pg_finfo_turnstile_routes_changed,
    setting_triggers::routes_changed
);
sql_function!(
    turnstile_permissions_changed,
    pg_finfo_turnstile_permissions_changed,
    permission::permissions_changed
);
