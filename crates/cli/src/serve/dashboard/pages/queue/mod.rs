//! One queue: what goes on in it, why its jobs wait, and its levers.

mod settings;

use maud::{Markup, html};
use serde::Deserialize;

use super::parts::gate::Gate;
use super::parts::limits::{self, Limits};
use super::parts::past::{Past, named, waiting_in};
use super::parts::statistics::{self, Statistics};
use super::parts::{figures, levers, why};
use crate::listener::Problem;
use crate::serve::dashboard::content::Content;
use crate::serve::dashboard::html::chart::{Chart, lines};
use crate::serve::dashboard::html::{badge, layout, parts};
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
    if name == limits::DEFAULTS {
        return defaults(view).await;
    }
    let queue: Option<Queue> = view.row(QUEUE, &[Value::from(name.as_str())]).await?;
    let queue = queue.ok_or_else(|| {
        Problem::not_found(format!(
            "No queue “{name}” has jobs, settings or statistics."
        ))
        .hint(Some(
            "A queue is there with its first job, and when turnstile.set_queue() is called for it.",
        ))
    })?;
    let reasons = why::reasons(&view, Some(&name), None).await?;
    let setting = settings::read(&view, &name).await?;
    let is_own = setting.as_ref().map(|setting| setting.is_own);
    let limits = setting.map_or_else(|| Limits::in_force(&queue.gate), |setting| setting.limits);
    let past = Past::of(&view);
    let gate = &queue.gate;
    Ok(Content::new(format!("Queue {name}"))
        .still("trail", trail(&view))
        .live("head", head(&view, gate))
        .live(
            "figures",
            html! {
                (why::warning(reasons.as_deref()))
                (figures::tiles(&view, gate, Some(("queue", &name))))
            },
        )
        .live(
            "now",
            beside([why::shown(reasons.as_deref()), chart(&past, &name)]),
        )
        .still("limits", settings::form(&view, &name, &limits))
        .live(
            "settings",
            settings::shown(&view, gate, &queue.settings, is_own),
        )
        .live(
            "statistics",
            statistics::shown(&view, queue.statistics.as_ref(), ("queue", &name)),
        ))
}

fn trail(view: &View) -> Markup {
    layout::trail(&[(&view.link("/queues").text(), "Queues")])
}

/// What holds for the queues without settings of their own.
async fn defaults(view: View) -> Result<Content, Problem> {
    let setting = settings::read(&view, limits::DEFAULTS).await?;
    let setting = setting.ok_or_else(|| {
        Problem::not_found("There are no defaults of queues, or this role may not read them.")
    })?;
    let gate = &setting.gate;
    let name = [("name", limits::DEFAULTS)];
    let resume = html! {
        @if gate.is_paused { (levers::switch(&view, &levers::QUEUE, gate, &name)) }
    };
    let state = html! {
        @if gate.is_paused { (badge::paused(gate.paused_until, view.now())) }
    };
    Ok(Content::new("Defaults of queues")
        .still("trail", trail(&view))
        .still(
            "head",
            layout::heading(html! { "Defaults of queues" }, state, resume),
        )
        .still("about", limits::about_defaults("queues", "queue"))
        .still("limits", settings::form(&view, &gate.name, &setting.limits))
        .still(
            "settings",
            settings::shown(&view, gate, &setting.settings, None),
        ))
}

fn head(view: &View, gate: &Gate) -> Markup {
    let name = [("name", gate.name.as_str())];
    layout::heading(
        html! { "Queue " (parts::name(&gate.name)) },
        gate.state_beside(view),
        levers::switch(view, &levers::QUEUE, gate, &name),
    )
}

fn beside(parts: [Option<Markup>; 2]) -> Markup {
    let parts: Vec<Markup> = parts.into_iter().flatten().collect();
    layout::columns(&parts)
}

/// Of the busiest queues alone is known what waited in them.
fn chart(past: &Past, name: &str) -> Option<Markup> {
    if past
        .last()
        .is_none_or(|last| waiting_in(last, name).is_none())
    {
        return None;
    }
    let waiting = past.line(|sample| waiting_in(sample, name));
    let chart = lines(Chart {
        title: "Waiting",
        unit: "jobs",
        series: &named(vec![("waiting", waiting)]),
        from: past.from,
        to: past.to,
        height: 120,
    });
    Some(layout::section("Lately", chart))
}
