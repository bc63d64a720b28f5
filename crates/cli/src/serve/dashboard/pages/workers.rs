//! Who claims.

use maud::{Markup, html};
use serde::Deserialize;

use super::parts::links;
use super::parts::listing::Listing;
use crate::listener::Problem;
use crate::serve::dashboard::content::Content;
use crate::serve::dashboard::html::number;
use crate::serve::dashboard::html::table::{Head, table};
use crate::serve::dashboard::html::tone::Tone;
use crate::serve::dashboard::html::{badge, layout, note, parts, time};
use crate::serve::dashboard::view::View;

const WORKERS: &str = include_str!("../sql/workers.sql");
const PATH: &str = "/workers";

/// Who has not claimed for so many seconds is marked.
const SILENT: f64 = 60.0;
/// And who has not for so long is probably gone.
const GONE: f64 = 900.0;

#[derive(Debug, Deserialize)]
struct Worker {
    worker: Option<String>,
    queue: Option<String>,
    first_seen: Option<f64>,
    last_seen: Option<f64>,
    claims: i64,
    jobs: i64,
    matching: i64,
    silent: i64,
}

pub async fn draw(view: View) -> Result<Content, Problem> {
    let listing = Listing::of(&view)?;
    let arguments = [listing.part(), Listing::most(), listing.order()];
    let workers: Vec<Worker> = view.rows(WORKERS, &arguments).await?;
    let matching = workers.first().map_or(0, |worker| worker.matching);
    let content = html! {
        (none_claims(&view, &listing, &workers))
        (worker_table(&view, &listing, &workers))
        (listing.rest(matching, "workers"))
    };
    Ok(Content::new("Workers")
        .still(
            "head",
            layout::heading(html! { "Workers" }, html! {}, html! {}),
        )
        .still("filter", listing.filter(&view, PATH, "Name or queue"))
        .live("workers", content))
}

fn none_claims(view: &View, listing: &Listing, workers: &[Worker]) -> Markup {
    let Some(first) = workers.first() else {
        return html! {};
    };
    if first.silent < first.matching || !listing.q.is_empty() {
        return html! {};
    }
    let last = workers
        .iter()
        .filter_map(|worker| worker.last_seen)
        .fold(0.0, f64::max);
    let text = format!(
        "The last one did {} ago.",
        time::span_text((view.now() - last).max(0.0))
    );
    note::note(
        Tone::Bad,
        "No worker has claimed in the last minute",
        &text,
        None,
    )
}

fn worker_table(view: &View, listing: &Listing, workers: &[Worker]) -> Markup {
    let head = |head, order| listing.head(view, PATH, head, order);
    let heads = [
        head(Head::text("Worker"), "name"),
        head(Head::text("State"), "silent"),
        head(
            Head::text("Queue").titled("In which its last claim looked last; * stands for all"),
            "queue",
        ),
        head(Head::number("Last claim"), ""),
        head(
            Head::number("First claim").titled("Since memory knows it"),
            "first",
        ),
        head(
            Head::number("Claims").titled("Calls that claimed, also those that found nothing"),
            "claims",
        ),
        head(Head::number("Jobs").titled("That they took"), "jobs"),
    ];
    let rows = workers.iter().map(|worker| row(view, worker)).collect();
    let matching = workers.first().map_or(0, |worker| worker.matching);
    let silent = workers.first().map_or(0, |worker| worker.silent);
    let caption = format!(
        "{}, {} silent for more than a minute. A worker that is busy with long jobs is silent, too.",
        listing.told(matching, "worker", "workers"),
        number::grouped(silent),
    );
    let empty = listing.empty("No worker has claimed since the server has started.");
    table(&heads, rows, &caption, &empty)
}

fn row(view: &View, worker: &Worker) -> Vec<Markup> {
    let now = view.now();
    vec![
        match worker.worker.as_deref() {
            Some(name) => parts::name(name),
            None => html! { span.faint { "all that give no name" } },
        },
        state(worker.last_seen.map_or(f64::INFINITY, |seen| now - seen)),
        number::or_none(worker.queue.as_deref(), |queue| match queue {
            "*" => html! { "all" },
            queue => links::queue(view, queue),
        }),
        time::ago(worker.last_seen, now),
        time::ago(worker.first_seen, now),
        number::count(worker.claims),
        number::count(worker.jobs),
    ]
}

fn state(silent: f64) -> Markup {
    match silent {
        _ if silent < SILENT => badge::tone(Tone::Good, "claims"),
        _ if silent < GONE => badge::tone(Tone::Warn, "silent"),
        _ => badge::tone(Tone::Plain, "gone or busy"),
    }
}
