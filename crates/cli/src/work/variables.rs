//! The job in the environment of a command.

use std::process::Command;

use turnstile_client::{Job, rfc3339};

/// The system refuses to start a command with a longer one.
const LONGEST: usize = 100_000;

/// Each variable is set, or taken away: a command that is given no tenant must not see that of another.
pub fn set(command: &mut Command, job: &Job) {
    let children = job
        .children
        .and_then(|children| serde_json::to_string(&children).ok());
    let variables = [
        ("TURNSTILE_JOB_ID", Some(job.id.to_string())),
        ("TURNSTILE_ATTEMPT", Some(job.attempt.to_string())),
        ("TURNSTILE_MAX_ATTEMPTS", Some(job.max_attempts.to_string())),
        ("TURNSTILE_QUEUE", Some(job.queue.clone())),
        ("TURNSTILE_KIND", Some(job.kind.clone())),
        ("TURNSTILE_PRIORITY", Some(job.priority.to_string())),
        ("TURNSTILE_TENANT", job.tenant.clone()),
        ("TURNSTILE_ACCOUNT", job.account.clone()),
        ("TURNSTILE_SESSION", job.session.clone()),
        ("TURNSTILE_CREATED_AT", Some(rfc3339(job.created_at))),
        (
            "TURNSTILE_METADATA",
            job.metadata.as_ref().map(|json| json.get().to_owned()),
        ),
        ("TURNSTILE_CHILDREN", children),
    ];
    for (name, value) in variables {
        match value.filter(|value| value.len() <= LONGEST) {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
}
