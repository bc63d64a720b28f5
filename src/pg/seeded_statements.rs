//! Statements of `sql/queries` as a fault that is armed leaves them.

use crate::pg::error::{Result, internal};
use crate::pg::seeded::{Seeded, armed};
use std::borrow::Cow;
use std::ffi::{CStr, CString};

/// A fault, the statement that it changes, and how.
const MUTANTS: &[(Seeded, &str, &str, &str)] = &[
    (
        Seeded::FailAnyAttempt,
        "fail_runs",
        "AND job.attempt = given.attempt",
        "",
    ),
    (
        Seeded::StartInPausedSession,
        "find_waiting",
        "job.holds_session AND EXISTS",
        "false AND EXISTS",
    ),
    (
        Seeded::ReleaseAnyAttempt,
        "release",
        "job.attempt = $2",
        "$2 IS NOT NULL",
    ),
    (
        Seeded::LookBeforeTaking,
        "unique_holder",
        "unique_key.tenant = $1",
        "split_part(unique_key.tenant, ' ', 2) = $1",
    ),
    (
        Seeded::LookBeforeTaking,
        "unique_take",
        "SELECT $1, $2, $3 + 1",
        "SELECT pg_backend_pid() || ' ' || $1, $2, $3 + 1",
    ),
    (
        Seeded::MoveReleasedJob,
        "release",
        "job.session IS NULL",
        "true",
    ),
    (
        Seeded::FreeSessionOnRetry,
        "fail_runs",
        "setting.session_on_retry = 'hold' AS holds_session",
        "setting.session_on_retry = '' AS holds_session",
    ),
    (
        Seeded::ForgetPassedOver,
        "meet_dependencies",
        "(SELECT count(*) FROM free) < $2",
        "false",
    ),
    (
        Seeded::WaitForDependencies,
        "tell_predecessors",
        "FOR NO KEY UPDATE OF dependency SKIP LOCKED",
        "",
    ),
    (
        Seeded::LookAtHeldAgain,
        "meet_dependencies",
        "AND decided.outcome = 'held'",
        "AND false",
    ),
    (
        Seeded::TellOfLocked,
        "tell_predecessors",
        "(free.is_marked OR ",
        "(true OR ",
    ),
    (
        Seeded::OverlookUntoldChildren,
        "blocked_children",
        "AND NOT dependency.is_told",
        "AND false",
    ),
    (
        Seeded::ComeBackUnmarked,
        "retry_finished",
        "THEN true ELSE",
        "THEN last.has_followers ELSE",
    ),
    (Seeded::EndUnlocked, "lock_to_end", "FOR UPDATE", ""),
    (
        Seeded::OpenAnywhere,
        "open_batches",
        "USING (id, lane_group, lane)",
        "USING (id)",
    ),
    (
        Seeded::CallBackEarly,
        "decide_blocked",
        "NOT EXISTS (SELECT FROM ONLY turnstile.job AS child WHERE child.parent = job.id OFFSET 0)",
        "true",
    ),
    (
        Seeded::TakeAnyEnd,
        "meet_dependencies",
        "ended.any_end OR ended.is_completed AS is_met",
        "true AS is_met",
    ),
    (
        Seeded::TellNoPredecessor,
        "tell_predecessors",
        "SET has_followers = true",
        "SET has_followers = NULL",
    ),
    (
        Seeded::IgnoreTrial,
        "setting_of_concurrency",
        "setting.*",
        "setting.gate, nullif(setting.slots, 1), setting.rate, setting.rate_per, setting.burst, setting.paused_until, setting.weight, setting.is_fair, setting.aging, setting.max_waiting, setting.rate_since",
    ),
    (
        Seeded::ForgetEpochOfFinished,
        "retry_finished",
        "'lease'\n",
        "'lease', 'claim_epoch'\n",
    ),
    (
        Seeded::ReplaceBatches,
        "unique_replace",
        " AND NOT waiting.is_parent",
        "",
    ),
    (
        Seeded::RerouteBlocked,
        "reroute",
        " AND NOT (waiting.state = 'blocked' AND waiting.holds_session)",
        "",
    ),
    (
        Seeded::KeepOldTies,
        "unique_replace",
        "dependency.job = $13",
        "dependency.job = -$13",
    ),
    (
        Seeded::ForgetWaits,
        "fail_runs",
        "waited = turnstile_internal.add_wait(job.waited, job.run_at, job.claimed_at)",
        "waited = job.waited",
    ),
    (
        Seeded::CountReleasedAttempt,
        "release",
        "job.uncounted + 1",
        "job.uncounted",
    ),
];

/// The statement as the fault that is armed leaves it.
pub fn text(name: &str, sql: &'static CStr) -> Result<Cow<'static, CStr>> {
    let mutant = MUTANTS
        .iter()
        .find(|(fault, statement, ..)| *statement == name && armed(*fault));
    let Some((_, _, from, to)) = mutant else {
        return Ok(Cow::Borrowed(sql));
    };
    let text = sql.to_string_lossy();
    if !text.contains(from) {
        return Err(internal("a seeded fault does not fit its statement"));
    }
    let text = CString::new(text.replace(from, to))
        .map_err(|_| internal("a statement with a zero byte"))?;
    Ok(Cow::Owned(text))
}
