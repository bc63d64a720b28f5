//! Where a job stands: its queue, tenant, session and keys, and the figures of its attempts.

use maud::{Markup, html};

use super::found::counted;
use crate::serve::dashboard::data::job::Job;
use crate::serve::dashboard::html::{number, parts, table, time};
use crate::serve::dashboard::pages::parts::links;
use crate::serve::dashboard::view::View;

pub fn facts(view: &View, job: &Job) -> Markup {
    let now = view.now();
    let mut pairs = vec![
        ("Queue", links::queue(view, &job.queue)),
        ("Tenant", links::tenant_or_none(view, job.tenant.as_deref())),
    ];
    if let (Some(tenant), Some(account)) = (&job.tenant, &job.account) {
        pairs.push(("Account", links::account(view, tenant, account)));
    }
    if let Some(session) = &job.session {
        pairs.push(("Session", in_session(view, job, session)));
    }
    if let Some(key) = &job.concurrency_key {
        pairs.push(("Concurrency key", links::key(view, key)));
    }
    if let Some(key) = &job.unique_key {
        pairs.push(("Unique key", unique(job, key, now)));
    }
    pairs.extend([
        ("Attempts", attempts(job)),
        ("Priority", number::count(i64::from(job.priority))),
        ("Enqueued", time::ago(job.created_at, now)),
    ]);
    if job.finished_at.is_none() {
        pairs.push(("Due", due(job, now)));
    }
    if let Some(worker) = &job.worker {
        pairs.push(("Worker", worker_of(job, worker)));
    }
    if job.state == "running" {
        pairs.push(("Lease", lease(job, now)));
    }
    if let Some(parent) = job.parent {
        pairs.push((
            "Child of",
            html! { (links::job(view, parent)) ", batch " (links::batch(view, parent)) },
        ));
    }
    table::pairs(&pairs)
}

fn in_session(view: &View, job: &Job, session: &str) -> Markup {
    let link = view
        .link("/jobs")
        .with("session", session)
        .with("queue", &job.queue)
        .with_some("tenant", job.tenant.as_deref());
    html! {
        (parts::link(&link.text(), session))
        @if job.holds_session { " " span.faint { "held by this job until it ends" } }
    }
}

fn unique(job: &Job, key: &str, now: f64) -> Markup {
    html! {
        (parts::mono(key))
        @if let Some(mode) = &job.unique_mode { " " span.faint { (mode.replace('_', " ")) } }
        @if job.unique_until.is_some() { " " span.faint { "ends " (time::ago(job.unique_until, now)) } }
    }
}

fn attempts(job: &Job) -> Markup {
    html! {
        (number::grouped(counted(job))) " of " (number::grouped(i64::from(job.max_attempts)))
        @if job.uncounted > 0 { " " span.faint { "and " (number::grouped(i64::from(job.uncounted))) " that do not count" } }
    }
}

fn due(job: &Job, now: f64) -> Markup {
    match job.run_at {
        Some(_) => time::ago(job.run_at, now),
        None => html! { "never" },
    }
}

fn worker_of(job: &Job, worker: &str) -> Markup {
    html! {
        (parts::name(worker))
        @if let Some(pid) = job.owner_pid { " " span.faint { "bound to backend " (pid) } }
    }
}

fn lease(job: &Job, now: f64) -> Markup {
    match job.lease_expires_at {
        Some(_) => time::ago(job.lease_expires_at, now),
        None => html! { "has no end" },
    }
}
