//! Verbs for upkeep, by hand or by a schedule.

pub mod check;
pub mod prune;
pub mod rescue;

use crate::pg::functions::sql_verb;

sql_verb!(
    turnstile_prune_unique_keys,
    pg_finfo_turnstile_prune_unique_keys,
    prune::prune_unique_keys
);
sql_verb!(turnstile_rescue, pg_finfo_turnstile_rescue, rescue::rescue);
sql_verb!(
    turnstile_promote,
    pg_finfo_turnstile_promote,
    rescue::promote
);
sql_verb!(turnstile_check, pg_finfo_turnstile_check, check::check);
sql_verb!(
    turnstile_rebuild,
    pg_finfo_turnstile_rebuild,
    check::rebuild
);
