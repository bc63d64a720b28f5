//! All batches: those that go on first.

use std::collections::HashMap;

use maud::{Markup, html};

use super::parts::links;
use super::parts::listing::Listing;
use crate::listener::Problem;
use crate::serve::dashboard::content::Content;
use crate::serve::dashboard::data::batches::{self, Batch, Counts};
use crate::serve::dashboard::html::icon::Icon;
use crate::serve::dashboard::html::table::{Head, table};
use crate::serve::dashboard::html::tone::Tone;
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
        Head::number("Ended").titled("How many of the children have ended"),
        Head::number("Children"),
        Head::number("Failed").titled("Children that were discarded"),
        Head::number("Running").titled("Children that run, and how many may at once"),
        Head::number("Pace").titled("Children that have ended in the last minute"),
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
                number::or_none(counts, |counts| number::count(counts.total)),
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

/// A parent that waits for its children is called blocked, but what is asked for is whether they go on.
pub fn state(batch: &Batch, now: f64) -> Markup {
    match standing(batch) {
        Standing::Paused => badge::paused(batch.paused_until, now),
        Standing::Queued => badge::shaped(Icon::Hourglass, Tone::Plain, "waits for its turn"),
        Standing::GoesOn => badge::shaped(Icon::Play, Tone::Info, "goes on"),
        Standing::Job => badge::state(&batch.state),
    }
}

/// What is to be said of a batch first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Paused,
    Queued,
    GoesOn,
    /// Its children have ended: the state of the job says it.
    Job,
}

pub fn standing(batch: &Batch) -> Standing {
    let waits = ["blocked", "available", "scheduled", "retryable"].contains(&batch.state.as_str());
    let is_done = batch.running + batch.waiting == 0;
    if batch.is_live && batch.is_paused && !is_done {
        Standing::Paused
    } else if waits && batch.started_at.is_none() {
        Standing::Queued
    } else if batch.state == "blocked" {
        Standing::GoesOn
    } else {
        Standing::Job
    }
}

fn ended(counts: &Counts) -> Markup {
    let ended = counts.completed + counts.discarded + counts.cancelled;
    bar::share(ended, counts.total)
}

fn failed(view: &View, id: i64, counts: &Counts) -> Markup {
    links::jobs(
        view,
        counts.discarded,
        &[("parent", &id.to_string()), ("state", "discarded")],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(state: &str, is_paused: bool, started_at: Option<f64>, waiting: i64) -> Batch {
        let text = serde_json::json!({
            "id": 1, "kind": "k", "queue": "q", "state": state, "is_live": true, "is_paused": is_paused, "running": 0,
            "waiting": waiting, "finished_per_minute": 0, "started_at": started_at, "matching": 1
        });
        serde_json::from_str(&text.to_string()).unwrap()
    }

    #[test]
    fn a_batch_says_what_matters_most() {
        for (batch, expected) in [
            (batch("blocked", false, Some(1.0), 3), Standing::GoesOn),
            (batch("blocked", true, Some(1.0), 3), Standing::Paused),
            (batch("available", false, None, 3), Standing::Queued),
            (batch("available", true, Some(1.0), 0), Standing::Job),
            (batch("running", false, Some(1.0), 0), Standing::Job),
        ] {
            assert_eq!(standing(&batch), expected, "{}", batch.state);
        }
    }
}
