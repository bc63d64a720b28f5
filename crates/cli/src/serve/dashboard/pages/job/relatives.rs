//! The jobs that a job has to do with: its children, those that it comes after, and those that come after it.

use maud::{Markup, html};
use serde::Deserialize;

use super::found::Job;
use crate::listener::Problem;
use crate::serve::dashboard::html::table::{Head, table};
use crate::serve::dashboard::html::{badge, form, layout, number, parts, tone};
use crate::serve::dashboard::pages::parts::links;
use crate::serve::dashboard::value::Value;
use crate::serve::dashboard::view::View;

const CHILDREN_OF_MINE: &str = include_str!("../../sql/children_mine.sql");
const CHILDREN_OF_STATUS: &str = include_str!("../../sql/children_status.sql");
const DEPENDENCIES: &str = include_str!("../../sql/dependencies.sql");

/// Children that are counted.
pub const MOST_CHILDREN: i64 = 10_000;
/// Jobs before and after that are shown.
const MOST_TIES: i64 = 20;

#[derive(Clone, Debug, Deserialize)]
pub struct OfState {
    pub state: String,
    pub jobs: i64,
}

/// By state, `MOST_CHILDREN` of them.
pub async fn children(view: &View, id: i64) -> Result<Vec<OfState>, Problem> {
    let sql = if view.can.payloads() {
        CHILDREN_OF_MINE
    } else {
        CHILDREN_OF_STATUS
    };
    view.rows(sql, &[Value::from(id), Value::from(MOST_CHILDREN)])
        .await
}

#[derive(Debug, Deserialize)]
pub struct Tie {
    is_before: bool,
    id: i64,
    any_end: bool,
    holds: bool,
    kind: Option<String>,
    queue: Option<String>,
    state: Option<String>,
}

pub async fn ties(view: &View, id: i64) -> Result<Vec<Tie>, Problem> {
    if !view.can.reads("dependencies") || !view.can.reads("job_status") {
        return Ok(Vec::new());
    }
    // One more than is shown says that there are more.
    view.rows(DEPENDENCIES, &[Value::from(id), Value::from(MOST_TIES + 1)])
        .await
}

/// How many children there are in each state, which lead to them.
pub fn counts(view: &View, parent: i64, children: &[OfState]) -> Markup {
    let total: i64 = children.iter().map(|of| of.jobs).sum();
    let parent = parent.to_string();
    html! {
        div.actions {
            @for of in children {
                span { (badge::state(&of.state)) " " (links::jobs(view, of.jobs, &[("parent", &parent), ("state", &of.state)])) }
            }
            @if total >= MOST_CHILDREN { (parts::faint("Of the first 10,000.")) }
        }
    }
}

pub fn children_of(view: &View, job: &Job, children: &[OfState]) -> Markup {
    if children.is_empty() {
        return html! {};
    }
    let list = view.link("/jobs").with("parent", job.id.to_string()).text();
    let beside = html! {
        a href=(list) { "List them" }
        @if view.can.figures() {
            a href=(view.link("/batch").with("id", job.id.to_string()).text()) { "The batch" }
        }
    };
    layout::section_with("Children", beside, counts(view, job.id, children))
}

pub fn tied(view: &View, job: &Job, ties: &[Tie]) -> Markup {
    html! {
        (listed(view, ties, true, "Comes after", "The jobs that must end before this one starts."))
        (listed(view, ties, false, "Comes before", "The jobs that wait for this one to end."))
        @if job.has_followers && !view.can.reads("dependencies") {
            (layout::section("Comes before", html! { p.faint { "Other jobs wait for this one. Your role may not see which." } }))
        }
    }
}

fn listed(view: &View, ties: &[Tie], is_before: bool, title: &str, caption: &str) -> Markup {
    let heads = [
        Head::text("Job"),
        Head::text("State"),
        Head::text("Kind"),
        Head::text("Queue"),
        Head::text("Condition"),
    ];
    let most = usize::try_from(MOST_TIES).unwrap_or(usize::MAX);
    let found: Vec<&Tie> = ties
        .iter()
        .filter(|tie| tie.is_before == is_before)
        .collect();
    if found.is_empty() {
        return html! {};
    }
    let rows = found
        .iter()
        .take(most)
        .map(|tie| {
            vec![
                links::job(view, tie.id),
                number::or_none(tie.state.as_deref(), badge::state),
                number::or_none(tie.kind.as_deref(), |kind| parts::cut(kind, 60)),
                number::or_none(tie.queue.as_deref(), |queue| links::queue(view, queue)),
                html! { (condition(tie)) },
            ]
        })
        .collect();
    layout::section(
        title,
        html! {
            (table(&heads, rows, caption, ""))
            @if found.len() > most { p.faint { "There are more than " (most) "." } }
        },
    )
}

fn condition(tie: &Tie) -> &'static str {
    match (tie.any_end, tie.holds) {
        (true, _) => "any end will do",
        (false, true) => "must complete; stays blocked otherwise",
        (false, false) => "must complete; discarded otherwise",
    }
}

/// Why the viewer may look for what went wrong in a batch first.
pub fn failed_children(view: &View, id: i64, children: &[OfState]) -> Markup {
    let failed: i64 = children
        .iter()
        .filter(|of| of.state == "discarded")
        .map(|of| of.jobs)
        .sum();
    if failed == 0 || !view.may("retry_many") {
        return html! {};
    }
    let link = view
        .link("/jobs/change")
        .with("deed", "retry")
        .with("parent", id.to_string())
        .with("state", "discarded");
    form::link_button(&link.text(), "Retry the failed children…", tone::Tone::Info)
}
