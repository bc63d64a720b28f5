//! The jobs of a page as a table. Columns in which nothing stands are left out.

use maud::{Markup, html};

use crate::serve::dashboard::data::jobs::{Job, Page};
use crate::serve::dashboard::data::rest::Rest;
use crate::serve::dashboard::filter::Filter;
use crate::serve::dashboard::html::table::{self, Head};
use crate::serve::dashboard::html::{badge, number, parts, time};
use crate::serve::dashboard::pages::parts::links;
use crate::serve::dashboard::view::View;

/// Characters of a name or an error in a line.
const NAME: usize = 48;
const ERROR: usize = 140;

struct Column {
    head: Head<'static>,
    draw: fn(&View, &Filter, &Job) -> Markup,
    /// Whether there is something to show of a job.
    has: fn(&Job) -> bool,
}

fn columns() -> [Column; 10] {
    let always = |_: &Job| true;
    [
        Column {
            head: Head::text("Job"),
            draw: |view, _, job| links::job(view, job.id),
            has: always,
        },
        Column {
            head: Head::text("State"),
            draw: |_, _, job| state(job),
            has: always,
        },
        Column {
            head: Head::text("Kind"),
            draw: |view, filter, job| chosen(view, filter, "kind", &job.kind),
            has: always,
        },
        Column {
            head: Head::text("Queue"),
            draw: |view, _, job| links::queue(view, &job.queue),
            has: always,
        },
        Column {
            head: Head::text("Tenant"),
            draw: |view, _, job| links::tenant_or_none(view, job.tenant.as_deref()),
            has: |job| job.tenant.is_some(),
        },
        Column {
            head: Head::text("Session"),
            draw: |view, filter, job| {
                number::or_none(job.session.as_deref(), |session| {
                    chosen(view, filter, "session", session)
                })
            },
            has: |job| job.session.is_some(),
        },
        Column {
            head: Head::text("When"),
            draw: |view, _, job| when(view, job),
            has: always,
        },
        Column {
            head: Head::number("Attempt").titled("The last attempt, of how many there may be"),
            draw: |_, _, job| attempt(job),
            has: |job| job.attempt > 0,
        },
        Column {
            head: Head::text("Worker"),
            draw: |_, _, job| {
                number::or_none(job.worker.as_deref(), |worker| parts::cut(worker, NAME))
            },
            has: |job| job.worker.is_some(),
        },
        Column {
            head: Head::text("Error"),
            draw: |_, _, job| {
                number::or_none(job.error.as_deref(), |error| parts::cut(error, ERROR))
            },
            has: |job| job.error.is_some(),
        },
    ]
}

pub fn table(view: &View, filter: &Filter, page: &Page) -> Markup {
    let jobs = once(&page.jobs);
    let columns: Vec<Column> = columns()
        .into_iter()
        .filter(|column| jobs.iter().any(|job| (column.has)(job)))
        .collect();
    let heads: Vec<Head<'_>> = columns.iter().map(|column| column.head.clone()).collect();
    let rows = jobs
        .iter()
        .map(|job| {
            columns
                .iter()
                .map(|column| (column.draw)(view, filter, job))
                .collect()
        })
        .collect();
    let empty = if filter.is_empty() {
        "There is no job yet."
    } else if page.rest == Rest::Nothing {
        "No job matches."
    } else {
        "No job that was looked at matches."
    };
    table::table(&heads, rows, "The newest first, by their numbers", empty)
}

/// A job that was brought back is there as live and finished: the live one counts.
fn once(jobs: &[Job]) -> Vec<&Job> {
    let mut shown: Vec<&Job> = Vec::with_capacity(jobs.len());
    for job in jobs {
        match shown.last_mut() {
            Some(last) if last.id == job.id => {
                if ended(job) > ended(last) {
                    *last = job;
                }
            }
            _ => shown.push(job),
        }
    }
    shown
}

fn ended(job: &Job) -> f64 {
    job.finished_at.unwrap_or(f64::INFINITY)
}

fn state(job: &Job) -> Markup {
    html! {
        (badge::state(&job.state))
        @if job.state == "running" && job.is_cancel_requested { " " span.faint { "asked to stop" } }
        @if job.is_brought_back { " " span.faint { "brought back" } }
    }
}

/// A name that leads to the jobs that have it, too.
fn chosen(view: &View, filter: &Filter, field: &str, name: &str) -> Markup {
    let link = filter.add_with(view.link("/jobs"), field, name).text();
    html! { a href=(link) { (parts::cut(name, NAME)) } }
}

/// The time that matters in its state.
fn when(view: &View, job: &Job) -> Markup {
    let (word, at) = match job.state.as_str() {
        "running" => ("started", job.started_at),
        "available" | "scheduled" | "retryable" => ("due", job.run_at),
        "blocked" => ("enqueued", job.created_at),
        _ => ("ended", job.finished_at),
    };
    html! {
        @match at {
            Some(_) => span.quantity { (word) " " (time::ago(at, view.now())) },
            None => { (word) " never" },
        }
    }
}

fn attempt(job: &Job) -> Markup {
    html! {
        (number::count_or_faint(i64::from(job.attempt)))
        span.faint { " of " (number::grouped(i64::from(job.max_attempts))) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(id: i64, finished_at: Option<f64>) -> Job {
        let text = serde_json::json!({
            "id": id, "state": "available", "kind": "k", "queue": "q", "attempt": 0, "max_attempts": 25,
            "is_cancel_requested": false, "is_brought_back": false, "finished_at": finished_at
        });
        serde_json::from_str(&text.to_string()).unwrap()
    }

    #[test]
    fn a_job_that_was_brought_back_is_shown_once() {
        let jobs = [
            job(3, Some(9.0)),
            job(3, None),
            job(2, Some(5.0)),
            job(2, Some(4.0)),
            job(1, None),
        ];
        let shown: Vec<(i64, Option<f64>)> = once(&jobs)
            .iter()
            .map(|job| (job.id, job.finished_at))
            .collect();
        assert_eq!(shown, [(3, None), (2, Some(5.0)), (1, None)]);
    }
}
