//! Verbs for producers.

pub mod asked_key;
mod decided; // what its parent, the routes and the queue decide
pub mod element;
pub mod enqueue;
pub mod enqueue_batch;
pub mod enqueue_many;
pub mod enqueue_unique;
pub mod new_job;
pub mod recurring;
pub mod references;
pub mod ties;
pub mod unique_key;

use crate::pg::functions::{sql_function, sql_verb};

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
sql_verb!(
    turnstile_pause_recurring,
    pg_finfo_turnstile_pause_recurring,
    recurring::pause
);
sql_verb!(
    turnstile_resume_recurring,
    pg_finfo_turnstile_resume_recurring,
    recurring::resume
);
sql_function!(
    turnstile_next_firing,
    pg_finfo_turnstile_next_firing,
    recurring::next_firing
);
sql_function!(
    turnstile_enqueue_firing,
    pg_finfo_turnstile_enqueue_firing,
    recurring::enqueue_firing
);
sql_verb!(
    turnstile_fire_recurring,
    pg_finfo_turnstile_fire_recurring,
    recurring::fire_recurring
);
sql_verb!(
    turnstile_enqueue,
    pg_finfo_turnstile_enqueue,
    enqueue::enqueue
);
sql_verb!(
    turnstile_enqueue_batch,
    pg_finfo_turnstile_enqueue_batch,
    enqueue_batch::enqueue_batch
);
sql_verb!(
    turnstile_enqueue_if_new,
    pg_finfo_turnstile_enqueue_if_new,
    enqueue::enqueue_if_new
);
sql_verb!(
    turnstile_enqueue_many,
    pg_finfo_turnstile_enqueue_many,
    enqueue_many::enqueue_many
);
