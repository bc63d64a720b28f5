//! The jobs that a job has to do with: its children, those that it comes after, and those that come after it.

use maud::{Markup, html};

use super::found::Children;
use crate::serve::dashboard::data::count::MOST_COUNTED;
use crate::serve::dashboard::data::job::{Dependency, InState, Job, MOST_DEPENDENCIES};
use crate::serve::dashboard::filter::Filter;
use crate::serve::dashboard::html::table::{Head, table};
use crate::serve::dashboard::html::{badge, form, layout, number, parts, tone};
use crate::serve::dashboard::pages::jobs::list;
use crate::serve::dashboard::pages::parts::links;
use crate::serve::dashboard::view::View;

/// How many children there are in each state, which lead to them.
pub fn counts(view: &View, parent: i64, children: &[InState]) -> Markup {
    let total: i64 = children.iter().map(|of| of.jobs).sum();
    let parent = parent.to_string();
    html! {
        div.actions {
            @for of in children {
                span { (badge::state(&of.state)) " " (links::jobs(view, of.jobs, &[("parent", &parent), ("state", &of.state)])) }
            }
            @if total >= MOST_COUNTED { (parts::faint("Of the first 10,000.")) }
        }
    }
}

pub fn children_of(view: &View, id: i64, children: &Children) -> Markup {
    let Some(page) = &children.some else {
        return html! {};
    };
    let filter = Filter::of_parent(id);
    let beside = html! {
        a href=(filter.add_to(view.link("/jobs")).text()) { "List all" }
        @if children.is_batch {
            a href=(view.link("/batch").with("id", id.to_string()).text()) { "The batch" }
        }
    };
    layout::section_with(
        "Children",
        beside,
        html! {
            (counts(view, id, &children.by_state))
            (list::table(view, &filter, page))
        },
    )
}

pub fn tied(view: &View, job: &Job, ties: &[Dependency]) -> Markup {
    html! {
        (listed(view, ties, true, "Comes after", "The jobs that must end before this one starts."))
        (listed(view, ties, false, "Comes before", "The jobs that wait for this one to end."))
        @if job.has_followers && !view.can.reads("dependencies") {
            (layout::section("Comes before", html! { p.faint { "Other jobs wait for this one. Your role may not see which." } }))
        }
    }
}

fn listed(view: &View, ties: &[Dependency], is_before: bool, title: &str, caption: &str) -> Markup {
    let heads = [
        Head::text("Job"),
        Head::text("State"),
        Head::text("Kind"),
        Head::text("Queue"),
        Head::text("Condition"),
    ];
    let most = usize::try_from(MOST_DEPENDENCIES).unwrap_or(usize::MAX);
    let found: Vec<&Dependency> = ties
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
            @if found.len() >= most { p.faint { "The first " (most) "." } }
        },
    )
}

fn condition(tie: &Dependency) -> &'static str {
    match (tie.any_end, tie.holds) {
        (true, _) => "any end will do",
        (false, true) => "must complete; stays blocked otherwise",
        (false, false) => "must complete; discarded otherwise",
    }
}

/// Why the viewer may look for what went wrong in a batch first.
pub fn failed_children(view: &View, id: i64, children: &[InState]) -> Markup {
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
