//! One file a verb: check the arguments, run a plan, map errors.

mod alive;
mod cancel;
mod check;
mod claim;
mod claimer;
mod complete;
mod element;
mod ending;
mod enqueue;
mod enqueue_many;
mod enqueue_unique;
mod fail;
mod filter;
pub mod finish;
mod keys;
mod listen_channel;
pub mod names;
mod new_job;
mod output;
mod permitted;
mod prune;
mod put_back;
mod recurring;
mod reroute;
mod rescue;
mod retry;
mod rounds;
mod start;
mod unique_key;
mod wait;

use crate::call::{sql_function, sql_verb};
use crate::{job_triggers, permission, publish};

sql_function!(turnstile_version, pg_finfo_turnstile_version, keys::version);
sql_function!(turnstile_gate_key, pg_finfo_turnstile_gate_key, keys::gate);
sql_function!(
    turnstile_session_gate,
    pg_finfo_turnstile_session_gate,
    keys::session_gate
);
sql_verb!(
    turnstile_schedule,
    pg_finfo_turnstile_schedule,
    recurring::schedule
);
sql_verb!(
    turnstile_unschedule,
    pg_finfo_turnstile_unschedule,
    recurring::unschedule
);
sql_function!(
    turnstile_set_gate,
    pg_finfo_turnstile_set_gate,
    keys::set_gate
);
sql_function!(
    turnstile_job_changed,
    pg_finfo_turnstile_job_changed,
    job_triggers::job_changed
);
sql_function!(
    turnstile_place_job,
    pg_finfo_turnstile_place_job,
    job_triggers::place_job
);
sql_function!(
    turnstile_job_truncated,
    pg_finfo_turnstile_job_truncated,
    publish::job_truncated
);
sql_function!(
    turnstile_setting_changed,
    pg_finfo_turnstile_setting_changed,
    publish::setting_changed
);
sql_function!(
    turnstile_settings_truncated,
    pg_finfo_turnstile_settings_truncated,
    publish::settings_truncated
);
sql_verb!(
    turnstile_enqueue,
    pg_finfo_turnstile_enqueue,
    enqueue::enqueue
);
sql_verb!(
    turnstile_enqueue_many,
    pg_finfo_turnstile_enqueue_many,
    enqueue_many::enqueue_many
);
sql_verb!(
    turnstile_prune_unique_keys,
    pg_finfo_turnstile_prune_unique_keys,
    prune::prune_unique_keys
);
sql_verb!(
    turnstile_claim_next,
    pg_finfo_turnstile_claim_next,
    claim::claim_next
);
sql_verb!(turnstile_claim, pg_finfo_turnstile_claim, claim::claim);
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
sql_verb!(turnstile_fail, pg_finfo_turnstile_fail, fail::fail);
sql_verb!(
    turnstile_release,
    pg_finfo_turnstile_release,
    put_back::release
);
sql_function!(
    turnstile_routes_changed,
    pg_finfo_turnstile_routes_changed,
    publish::routes_changed
);
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
sql_verb!(turnstile_rescue, pg_finfo_turnstile_rescue, rescue::rescue);
sql_verb!(
    turnstile_promote,
    pg_finfo_turnstile_promote,
    rescue::promote
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
    turnstile_progress,
    pg_finfo_turnstile_progress,
    alive::progress
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
    turnstile_retry_many,
    pg_finfo_turnstile_retry_many,
    retry::retry_many
);
sql_verb!(
    turnstile_reprioritize,
    pg_finfo_turnstile_reprioritize,
    retry::reprioritize
);
sql_verb!(turnstile_check, pg_finfo_turnstile_check, check::check);
sql_verb!(
    turnstile_rebuild,
    pg_finfo_turnstile_rebuild,
    check::rebuild
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
sql_function!(
    turnstile_permissions_changed,
    pg_finfo_turnstile_permissions_changed,
    permission::permissions_changed
);
sql_function!(
    turnstile_check_permission,
    pg_finfo_turnstile_check_permission,
    permission::check_permission
);
