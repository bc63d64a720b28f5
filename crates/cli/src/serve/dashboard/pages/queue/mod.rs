//! One queue: what goes on in it, why its jobs wait, and its levers.

mod settings;

use maud::{Markup, html};
use serde::Deserialize;

use super::Content;
use super::parts::gate::Gate;
use super::parts::past::{Past, named, waiting_in};
use super::parts::statistics::{self, Statistics};
use super::parts::{figures, levers, why};
use crate::listener::Problem;
use crate::serve::dashboard::html::chart::{Chart, lines};
use crate::serve::dashboard::html::{layout, parts};
use crate::serve::dashboard::value::Value;
use crate::serve::dashboard::view::View;
use settings::Settings;

const QUEUE: &str = include_str!("../../sql/queue.sql");

#[derive(Debug, Deserialize)]
struct Asked {
    name: String,
}

#[derive(Debug, Deserialize)]
struct Queue {
    #[serde(flatten)]
    gate: Gate,
    #[serde(flatten)]
    settings: Settings,
    statistics: Option<Statistics>,
}

pub async fn draw(view: View) -> Result<Content, Problem> {
    let Asked { name } = view.query()?;
    let queue: Option<Queue> = view.row(QUEUE, &[Value::from(name.as_str())]).await?;
    let queue = queue.ok_or_else(|| {
        Problem::not_found(format!(
            "No queue “{name}” has jobs, settings or statistics."
        ))
        .hint(Some("A queue is there with its first job, and when turnstile.set_queue() is called for it."))
    })?;
    let reasons = why::reasons(&view, Some(&name), None).await?;
    let is_own = settings::is_own(&view, &name).await?;
    let past = Past::of(&view);
    let gate = &queue.gate;
    Ok(Content::new(format!("Queue {name}"))
        .still("trail", layout::trail(&[(&view.link("/queues").text(), "Queues")]))
        .live("head", head(&view, gate))
        .live("figures", html! {
            (why::warning(reasons.as_deref()))
            (figures::tiles(&view, gate, Some(("queue", &name))))
        })
        .live("now", html! {
            (why::shown(reasons.as_deref()))
            (chart(&past, &name))
        })
        .live("settings", settings::shown(gate, &queue.settings, is_own))
        .still("limits", settings::form(&view, gate))
        .live("statistics", statistics::shown(&view, queue.statistics.as_ref())))
}

fn head(view: &View, gate: &Gate) -> Markup {
    let name = [("name", gate.name.as_str())];
    layout::heading(
        html! { "Queue " (parts::name(&gate.name)) },
        gate.state_beside(view.now()),
        levers::switch(view, &levers::QUEUE, gate, &name),
    )
}

/// Of the busiest queues alone is known what waited in them.
fn chart(past: &Past, name: &str) -> Markup {
    if past.last().is_none_or(|last| waiting_in(last, name).is_none()) {
        return html! {};
    }
    let waiting = past.line(|sample| waiting_in(sample, name));
    lines(Chart {
        title: "Waiting",
        unit: "jobs",
        series: &named(vec![("waiting", waiting)]),
        from: past.from,
        to: past.to,
        height: 120,
    })
}
