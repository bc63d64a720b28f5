//! The list of jobs: what chooses them, the newest that match, and what can be done with all of them.

pub mod deed;
mod filters;
pub mod list;
pub mod words;

use axum::http::StatusCode;
use maud::{Markup, html};
use serde::Deserialize;

use super::problem;
use crate::listener::Problem;
use crate::serve::dashboard::content::Content;
use crate::serve::dashboard::data::jobs;
use crate::serve::dashboard::data::rest::Rest;
use crate::serve::dashboard::filter::Filter;
use crate::serve::dashboard::html::number::grouped;
use crate::serve::dashboard::html::{form, layout};
use crate::serve::dashboard::view::View;

/// Jobs on a page.
const MOST: usize = 50;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Paging {
    before: Option<i64>,
}

pub async fn draw(view: View) -> Result<Content, Problem> {
    let filter = trimmed(view.query()?);
    let Paging { before } = view.query()?;
    let counts = filters::counts(&view, &filter).await?;
    let found = match jobs::page(&view, &filter, before, MOST).await {
        Ok(page) => html! {
            (list::table(&view, &filter, &page))
            (pager(&view, &filter, before, page.rest))
        },
        // What was typed stays in its field, to be mended.
        Err(problem) if problem.status() == StatusCode::BAD_REQUEST => problem::told(&problem),
        Err(problem) => return Err(problem),
    };
    Ok(Content::new("Jobs")
        .still("head", head(&view, &filter))
        .still("filter", filters::form(&view, &filter))
        .live("states", filters::states(&view, &filter, counts.as_ref()))
        .live("jobs", found))
}

/// What was pasted often has a space at its end. Names keep theirs: without it they would be those of other things, which a change of all
/// that match would hit.
pub fn trimmed(filter: Filter) -> Filter {
    let trim = |text: String| text.trim().to_owned();
    Filter {
        state: trim(filter.state),
        older: trim(filter.older),
        parent: trim(filter.parent),
        payload: trim(filter.payload),
        ..filter
    }
}

/// With the field that leads to a job by its number, and what can be done with all that match.
fn head(view: &View, filter: &Filter) -> Markup {
    let changes = !view.shared.changes.of(&view.access).is_empty();
    let beside = html! {
        form.jump method="get" action=(view.link("/job").text()) {
            input type="text" name="id" placeholder="Number" aria-label="Job number" inputmode="numeric" autocomplete="off" pattern="\\s*-?[0-9]+\\s*" required;
            button.plain { "Open" }
        }
    };
    let actions = html! {
        @if changes && view.writes() { a href=(view.link("/change").text()) { "Your changes" } }
        @if !filter.is_empty() && filter.payload.is_empty() {
            @for words in deed::ALL {
                @if words.is_offered(view) && !words.states(&filter.state).is_empty() {
                    @let link = filter.add_to(view.link("/jobs/change").with("deed", words.name)).text();
                    (form::link_button(&link, &format!("{} all that match…", words.verb), words.tone))
                }
            }
        }
    };
    layout::heading(html! { "Jobs" }, beside, actions)
}

fn pager(view: &View, filter: &Filter, before: Option<i64>, rest: Rest) -> Markup {
    let here = || filter.add_to(view.link("/jobs"));
    let newest = before.map(|_| here().text());
    let (older, label, note) = match rest {
        Rest::Nothing => (None, "Older →", String::new()),
        Rest::More(id) => (Some(id), "Older →", String::new()),
        Rest::Unknown(id) => (
            Some(id),
            "Look further back →",
            format!("Looked back to job {}.", grouped(id)),
        ),
        Rest::Unread(missing) => (
            None,
            "Older →",
            format!(
                "Time was up before {} more that run were found.",
                grouped(missing)
            ),
        ),
    };
    let older = older.map(|id| here().with("before", id.to_string()).text());
    if newest.is_none() && older.is_none() && note.is_empty() {
        return html! {};
    }
    html! {
        nav.pager aria-label="Pages" {
            (way(newest, "← Newest"))
            (way(older, label))
            @if !note.is_empty() { span.faint { (note) } }
        }
    }
}

fn way(href: Option<String>, label: &str) -> Markup {
    html! {
        @match href {
            Some(href) => a.button href=(href) { (label) },
            None => span.button.off aria-hidden="true" { (label) },
        }
    }
}
