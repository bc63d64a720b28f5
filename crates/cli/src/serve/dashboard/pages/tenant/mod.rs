//! One tenant: what it takes of all, why its jobs wait, its accounts, and its levers.

mod accounts;

use maud::{Markup, html};
use serde::Deserialize;

use super::Content;
use super::parts::gate::{Gate, limit, rate};
use super::parts::statistics::{self, Statistics};
use super::parts::{figures, levers, limits, why};
use crate::listener::Problem;
use crate::serve::dashboard::html::layout::{section, section_with};
use crate::serve::dashboard::html::table::pairs;
use crate::serve::dashboard::html::tone::Tone;
use crate::serve::dashboard::html::{bar, form, layout, number, parts};
use crate::serve::dashboard::value::Value;
use crate::serve::dashboard::view::View;

const TENANT: &str = include_str!("../../sql/tenant.sql");
const OWN: &str = include_str!("../../sql/own_tenant.sql");

#[derive(Debug, Deserialize)]
struct Asked {
    name: String,
    /// The account whose limits are shown.
    account: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Tenant {
    #[serde(flatten)]
    gate: Gate,
    statistics: Option<Statistics>,
}

pub async fn draw(view: View) -> Result<Content, Problem> {
    let Asked { name, account } = view.query()?;
    let tenant: Option<Tenant> = view.row(TENANT, &[Value::from(name.as_str())]).await?;
    let tenant = tenant.ok_or_else(|| {
        Problem::not_found(format!("No tenant “{name}” has jobs, limits or statistics.")).hint(
            Some("A tenant is there with its first job, and when turnstile.set_tenant() is called for it."),
        )
    })?;
    let gate = &tenant.gate;
    let reasons = why::reasons(&view, None, Some(&name)).await?;
    let accounts = accounts::read(&view, &name).await?;
    let chosen = accounts::chosen(&view, &name, account.as_deref()).await?;
    let is_own = is_own(&view, &name).await?;
    Ok(Content::new(format!("Tenant {name}"))
        .still("trail", layout::trail(&[(&view.link("/tenants").text(), "Tenants")]))
        .live("head", head(&view, gate))
        .live("figures", html! {
            (figures::tiles(&view, gate, Some(("tenant", &name))))
            (shares(gate))
        })
        .live("why", why::shown(reasons.as_deref()))
        .live("accounts", accounts::shown(&view, &name, &accounts))
        .still("account", accounts::edited(&view, &name, chosen.as_ref()))
        .live("settings", settings(gate, is_own))
        .still("limits", limits_form(&view, gate))
        .live("statistics", statistics::shown(&view, tenant.statistics.as_ref())))
}

fn head(view: &View, gate: &Gate) -> Markup {
    let name = [("name", gate.name.as_str())];
    layout::heading(
        html! { "Tenant " (parts::name(&gate.name)) },
        gate.state_beside(view.now()),
        levers::switch(view, &levers::TENANT, gate, &name),
    )
}

fn shares(gate: &Gate) -> Markup {
    pairs(&[
        ("Share of all that runs", bar::share(gate.running, gate.all_running)),
        ("Share of all that waits", bar::share(gate.waiting, gate.all_waiting)),
        ("Weight in fair queues", number::count(gate.weight)),
    ])
}

/// Nothing where the viewer may not know.
async fn is_own(view: &View, name: &str) -> Result<Option<bool>, Problem> {
    if !view.can.reads("tenant") {
        return Ok(None);
    }
    view.row(OWN, &[Value::from(name)]).await
}

fn settings(gate: &Gate, is_own: Option<bool>) -> Markup {
    let shown = pairs(&[
        ("Run at once", limit(gate.slots)),
        ("Wait at most", limit(gate.max_waiting)),
        ("Start at most", rate(gate)),
        ("Weight", number::count(gate.weight)),
    ]);
    section_with("Limits in force, over all queues", limits::origin(is_own), shown)
}

fn limits_form(view: &View, gate: &Gate) -> Markup {
    if !view.may("set_tenant") {
        return html! {};
    }
    let fields = html! {
        (limits::slots("slots", gate))
        (limits::max_waiting(gate))
        (form::number("weight", "Weight", Some(gate.weight), "1"))
        (limits::rate(gate))
    };
    let action = levers::action(view, "/tenant", "limits");
    section(
        "Change limits",
        form::post(&action, fields, &[("name", &gate.name)], "Set limits", Tone::Info),
    )
}
