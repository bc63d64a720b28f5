//! All batches: those that go on first.

use std::collections::HashMap;

use maud::{Markup, html};

use super::Content;
use super::parts::links;
use super::parts::listing::Listing;
use crate::listener::Problem;
use crate::serve::dashboard::data::batches::{self, Batch, Counts};
use crate::serve::dashboard::html::table::{Head, table};
use crate::serve::dashboard::html::{badge, bar, layout, number, parts, time};
use crate::serve::dashboard::view::View;

/// Rows that are shown at most.
const MOST: i64 = 100;
const KIND: usize = 48;

pub async fn draw(view: View) -> Result<Content, Problem> {
    let listing = Listing::of(&view)?;
    let found = batches::list(&view, listing.q.trim(), MOST).await?;
    let counts = batches::counts(&view, &found).await?;
    let filter = listing.filter(&view, "/batches", "Batch");
    let heading = layout::heading(html! { "Batches" }, html! {}, html! {});
    Ok(Content::new("Batches")
        .still("filter", html! { (heading) (filter) })
        .live("batches", listed(&view, &listing, &found, &counts)))
}

fn listed(
    view: &View,
    listing: &Listing,
    found: &[Batch],
    counts: &HashMap<i64, Counts>,
) -> Markup {
    let heads = [
        Head::text("Batch"),
        Head::text("State"),
        Head::number("Ended").titled("Children that have ended, of all"),
        Head::number("Failed").titled("Children that were discarded"),
        Head::number("Running").titled("Children that run, and how many may at once"),
        Head::number("Ended a minute"),
        Head::text("Likely end"),
        Head::text("Queue"),
        Head::text("Tenant"),
        Head::text("Since"),
    ];
    let rows = found
        .iter()
        .map(|batch| {
            let counts = counts.get(&batch.id);
            vec![
                html! { (links::batch(view, batch.id)) " " (parts::cut(&batch.kind, KIND)) },
                state(batch, view.now()),
                number::or_none(counts, ended),
                number::or_none(counts, |counts| failed(view, batch.id, counts)),
                if batch.is_live {
                    bar::used(batch.running, batch.slots)
                } else {
                    number::none()
                },
                if batch.is_live {
                    number::count_or_faint(batch.finished_per_minute)
                } else {
                    number::none()
                },
                time::ago(batch.estimated_end.filter(|_| batch.is_live), view.now()),
                links::queue(view, &batch.queue),
                links::tenant_or_none(view, batch.tenant.as_deref()),
                time::ago(batch.started_at, view.now()),
            ]
        })
        .collect();
    let empty = if listing.q.trim().is_empty() {
        "There is no batch. turnstile.enqueue_batch() adds one."
    } else {
        "No batch matches."
    };
    table(&heads, rows, &caption(found), empty)
}

fn caption(found: &[Batch]) -> String {
    let matching = found.first().map_or(0, |batch| batch.matching);
    let live = found.iter().filter(|batch| batch.is_live).count();
    if matching > MOST {
        format!(
            "The first {MOST} of {} batches: those that go on first, then the newest",
            number::grouped(matching)
        )
    } else {
        format!(
            "{live} that go on, {} that have ended; the newest first",
            found.len() - live
        )
    }
}

/// A parent that waits for its children is what one calls a batch that goes on.
pub fn state(batch: &Batch, now: f64) -> Markup {
    html! {
        (badge::state(&batch.state))
        @if batch.is_live && batch.is_paused { " " (badge::paused(batch.paused_until, now)) }
    }
}

fn ended(counts: &Counts) -> Markup {
    let ended = counts.completed + counts.discarded + counts.cancelled;
    html! { (bar::share(ended, counts.total)) " " span.faint { "of " (number::count(counts.total)) } }
}

fn failed(view: &View, id: i64, counts: &Counts) -> Markup {
    links::jobs(
        view,
        counts.discarded,
        &[("parent", &id.to_string()), ("state", "discarded")],
    )
}
