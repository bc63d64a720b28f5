//! What SQL can call. The functions for users are in four groups, each with the list of its own; a file for each checks the
//! arguments, calls what is below, and maps errors. Here is what the tables and the script call, but for the row triggers of
//! [`crate::table`].

mod arguments;
mod maintain;
mod operate;
mod produce;
mod work;

use crate::permission;
use crate::pg::functions::{sql_function, unguarded_function};
use crate::sync::{gate_keys, setting_triggers};

unguarded_function!(
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
    turnstile_endpoints_changed,
    pg_finfo_turnstile_endpoints_changed,
    setting_triggers::endpoints_changed
);
sql_function!(
    turnstile_recurring_changed,
    pg_finfo_turnstile_recurring_changed,
    setting_triggers::recurring_changed
);
sql_function!(
    turnstile_retry_curves_changed,
    pg_finfo_turnstile_retry_curves_changed,
    setting_triggers::retry_curves_changed
);
sql_function!(
    turnstile_permissions_changed,
    pg_finfo_turnstile_permissions_changed,
    permission::permissions_changed
);
