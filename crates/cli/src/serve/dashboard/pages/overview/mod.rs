//! What goes on now, and what needs attention first.

mod attention;
mod charts;
mod now;
mod without_figures;

use maud::html;

use super::parts::empty;
use super::parts::gate::Gate;
use super::parts::listing::Listing;
use super::parts::past::Past;
use super::queues;
use crate::listener::Problem;
use crate::serve::dashboard::content::Content;
use crate::serve::dashboard::html::{badge, form, layout, number, tone::Tone};
use crate::serve::dashboard::view::View;

/// Queues that are shown here.
const FEW: usize = 12;

pub async fn draw(view: View) -> Result<Content, Problem> {
    let content = Content::new("Overview").still("head", head(&view));
    if view.can.version.is_none() {
        return Ok(content.still("empty", empty::not_installed(&view)));
    }
    if !view.can.figures() {
        return Ok(content.still("links", without_figures::shown(&view)));
    }
    let listing = Listing::default();
    let queues = queues::read(&view, &listing).await?;
    let now = now::read(&view).await?;
    let alerts = attention::read(&view, &now, &queues).await?;
    let past = Past::of(&view);
    Ok(content
        .live(
            "attention",
            attention::shown(&view, &now, &alerts, &queues, &past),
        )
        .live("now", now::shown(&view, &now, &past))
        .live("charts", charts::shown(&past))
        .live("queues", busiest(&view, &listing, &queues, &past)))
}

fn head(view: &View) -> maud::Markup {
    let beside = html! {
        @if view.can.in_recovery { (badge::tone(Tone::Warn, "in recovery: a standby")) }
    };
    layout::heading(html! { "Overview" }, beside, html! {})
}

fn busiest(view: &View, listing: &Listing, queues: &[Gate], past: &Past) -> maud::Markup {
    let all = queues.first().map_or(0, |queue| queue.matching);
    let shown = queues.get(..FEW).unwrap_or(queues);
    let told = if shown.len() < queues.len() {
        format!("{FEW} of {} queues", number::grouped(all))
    } else {
        listing.told(all, "queue", "queues")
    };
    let more = form::link_button(&view.link("/queues").text(), "All queues", Tone::Plain);
    layout::section_with(
        "Queues",
        html! { @if shown.len() < queues.len() { (more) } },
        queues::queue_table(view, listing, shown, past, &told),
    )
}
