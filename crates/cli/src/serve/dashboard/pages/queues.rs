//! All queues, the busiest first.

use maud::Markup;

use super::parts::gate::Gate;
use super::parts::gate_list::{self, Heads, List, matching};
use super::parts::links;
use super::parts::listing::Listing;
use super::parts::past::{Past, waiting_in};
use crate::listener::Problem;
use crate::serve::dashboard::content::Content;
use crate::serve::dashboard::html::table::{Head, table};
use crate::serve::dashboard::html::{bar, chart};
use crate::serve::dashboard::view::View;

const QUEUES: &str = include_str!("../sql/queues.sql");
const PATH: &str = "/queues";

pub async fn draw(view: View) -> Result<Content, Problem> {
    let listing = Listing::of(&view)?;
    let queues = read(&view, &listing).await?;
    let past = Past::of(&view);
    let told = listing.told(matching(&queues), "queue", "queues");
    let table = queue_table(&view, &listing, &queues, &past, &told);
    let list = List {
        title: "Queues",
        path: PATH,
        searched: "Name",
        defaults: ("/queue", "queue"),
        many: "queues",
    };
    Ok(list.page(&view, &listing, &queues, table))
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
    let heads = Heads::new(view, listing, PATH);
    let [started, finished] = heads.pace();
    let [wait, failed] = heads.statistics();
    let all = [
        heads.sorted(Head::text("Queue"), "name"),
        heads.number("Running", "running"),
        heads.number("Waiting", "waiting"),
        Head::text("Last hour").titled("Waiting jobs, of the eight busiest queues"),
        heads.oldest(),
        heads.number("Scheduled", "scheduled"),
        heads.number("Retryable", "retryable"),
        heads.number("Blocked", "blocked"),
        started,
        finished,
        wait,
        failed,
    ];
    let rows = queues.iter().map(|queue| row(view, queue, past)).collect();
    let caption = listing.ordered(told, "those with the most work first");
    let empty = listing.empty("No queue has jobs yet. turnstile.enqueue() adds the first.");
    table(&all, rows, &caption, &empty)
}

fn row(view: &View, queue: &Gate, past: &Past) -> Vec<Markup> {
    let name = queue.name.as_str();
    let of_state = |count, state| links::jobs(view, count, &[("queue", name), ("state", state)]);
    let spark = past.spark(|sample| waiting_in(sample, name));
    let [started, finished] = gate_list::pace(queue);
    let [wait, failed] = gate_list::statistics(queue);
    vec![
        queue.named(view, links::queue(view, name)),
        bar::used(queue.running, queue.slots),
        of_state(queue.waiting, "available"),
        chart::spark(&spark, "Waiting"),
        queue.oldest(),
        of_state(queue.scheduled, "scheduled"),
        of_state(queue.retryable, "retryable"),
        of_state(queue.blocked, "blocked"),
        started,
        finished,
        wait,
        failed,
    ]
}
