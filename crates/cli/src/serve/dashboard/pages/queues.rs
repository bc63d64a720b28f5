//! All queues, the busiest first.

use maud::{Markup, html};

use super::Content;
use super::parts::gate::Gate;
use super::parts::listing::Listing;
use super::parts::past::{Past, waiting_in};
use super::parts::{limits, links};
use crate::listener::Problem;
use crate::serve::dashboard::html::number::{self, count_or_faint};
use crate::serve::dashboard::html::table::{Head, table};
use crate::serve::dashboard::html::{bar, chart, layout, time};
use crate::serve::dashboard::view::View;

const QUEUES: &str = include_str!("../sql/queues.sql");
const PATH: &str = "/queues";

pub async fn draw(view: View) -> Result<Content, Problem> {
    let listing = Listing::of(&view)?;
    let queues = read(&view, &listing).await?;
    let past = Past::of(&view);
    let matching = queues.first().map_or(0, |queue| queue.matching);
    let told = listing.told(matching, "queue", "queues");
    let content = html! {
        (queue_table(&view, &listing, &queues, &past, &told))
        (listing.rest(matching, "queues"))
    };
    Ok(Content::new("Queues")
        .still(
            "head",
            layout::heading(
                html! { "Queues" },
                html! {},
                limits::defaults_link(&view, "/queue", "queue"),
            ),
        )
        .still("filter", listing.filter(&view, PATH, "Name"))
        .live("queues", content))
}

pub async fn read(view: &View, listing: &Listing) -> Result<Vec<Gate>, Problem> {
    view.rows(QUEUES, &[listing.part(), Listing::most(), listing.order()])
        .await
}

pub fn queue_table(
    view: &View,
    listing: &Listing,
    queues: &[Gate],
    past: &Past,
    told: &str,
) -> Markup {
    let head = |head, order| listing.head(view, PATH, head, order);
    let heads = [
        head(Head::text("Queue"), "name"),
        head(Head::number("Running"), "running"),
        head(Head::number("Waiting"), "waiting"),
        Head::text("Last hour").titled("Waiting jobs, of the eight busiest queues"),
        head(
            Head::number("Oldest").titled("How long the first of those that wait has been due"),
            "oldest",
        ),
        head(Head::number("Scheduled"), "scheduled"),
        head(Head::number("Retryable"), "retryable"),
        head(Head::number("Blocked"), "blocked"),
        head(
            Head::number("Started").titled("In the last minute"),
            "started",
        ),
        head(
            Head::number("Finished").titled("In the last minute"),
            "finished",
        ),
        head(
            Head::number("Wait p95").titled(
                "What 95 of 100 jobs had not passed before they started, since statistics began",
            ),
            "wait",
        ),
        head(
            Head::number("Failed").titled("Runs, since statistics began"),
            "failed",
        ),
    ];
    let rows = queues.iter().map(|queue| row(view, queue, past)).collect();
    let caption = listing.ordered(told, "those with the most work first");
    let empty = listing.empty("No queue has jobs yet. turnstile.enqueue() adds the first.");
    table(&heads, rows, &caption, &empty)
}

fn row(view: &View, queue: &Gate, past: &Past) -> Vec<Markup> {
    let name = queue.name.as_str();
    let of_state = |count, state| links::jobs(view, count, &[("queue", name), ("state", state)]);
    let spark = past.spark(|sample| waiting_in(sample, name));
    vec![
        queue.named(view, links::queue(view, name)),
        bar::used(queue.running, queue.slots),
        of_state(queue.waiting, "available"),
        chart::spark(&spark, "Waiting"),
        queue.oldest(),
        of_state(queue.scheduled, "scheduled"),
        of_state(queue.retryable, "retryable"),
        of_state(queue.blocked, "blocked"),
        number::rate(queue.claimed_per_minute as f64),
        number::rate(queue.finished_per_minute as f64),
        number::or_none(queue.wait_p95_ms, time::span_ms),
        number::or_none(queue.failed, count_or_faint),
    ]
}
