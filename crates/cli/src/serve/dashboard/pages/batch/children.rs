//! The children of a batch: how many are in each state, and those that failed last.

use maud::{Markup, html};

use crate::listener::Problem;
use crate::serve::dashboard::data::job::{self, InState};
use crate::serve::dashboard::data::jobs::{self, Page};
use crate::serve::dashboard::filter::Filter;
use crate::serve::dashboard::html::layout;
use crate::serve::dashboard::pages::job::relatives;
use crate::serve::dashboard::pages::jobs::list;
use crate::serve::dashboard::view::View;

/// Failed ones that are shown.
const MOST: usize = 10;

/// Who reads figures alone sees none.
pub async fn of(view: &View, id: i64) -> Result<(Vec<InState>, Option<Page>), Problem> {
    if !view.can.jobs() {
        return Ok((Vec::new(), None));
    }
    let by_state = job::children(view, id).await?;
    let failed = jobs::page(view, &failed_of(id), None, MOST).await?;
    Ok((by_state, Some(failed)))
}

fn failed_of(id: i64) -> Filter {
    Filter {
        parent: id.to_string(),
        state: "discarded".to_owned(),
        ..Filter::default()
    }
}

pub fn counts(view: &View, id: i64, by_state: &[InState]) -> Markup {
    if by_state.is_empty() {
        return html! {};
    }
    let list = view.link("/jobs").with("parent", id.to_string()).text();
    let beside = html! { a href=(list) { "List them" } };
    layout::section_with("Children", beside, relatives::counts(view, id, by_state))
}

pub fn failures(view: &View, id: i64, failed: Option<&Page>) -> Markup {
    let Some(page) = failed.filter(|page| !page.jobs.is_empty()) else {
        return html! {};
    };
    let filter = failed_of(id);
    let all = filter.add_to(view.link("/jobs")).text();
    let beside = html! { a href=(all) { "All that failed" } };
    layout::section_with("Failed last", beside, list::table(view, &filter, page))
}
