//! One tenant: what it takes of all, why its jobs wait, its accounts, and its levers.

mod accounts;
mod settings;

use maud::{Markup, html};
use serde::Deserialize;

use super::parts::gate::Gate;
use super::parts::limits::{self, Limits};
use super::parts::statistics::{self, Statistics};
use super::parts::{figures, levers, why};
use crate::listener::Problem;
use crate::serve::dashboard::content::Content;
use crate::serve::dashboard::html::table::pairs;
use crate::serve::dashboard::html::{badge, bar, layout, number, parts};
use crate::serve::dashboard::value::Value;
use crate::serve::dashboard::view::View;

const TENANT: &str = include_str!("../../sql/tenant.sql");

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
    if name == limits::DEFAULTS {
        return defaults(view).await;
    }
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
    let setting = settings::read(&view, &name).await?;
    let is_own = setting.as_ref().map(|setting| setting.is_own);
    let limits = setting.map_or_else(|| Limits::in_force(gate), |setting| setting.limits);
    Ok(Content::new(format!("Tenant {name}"))
        .still("trail", trail(&view))
        .live("head", head(&view, gate))
        .live(
            "figures",
            html! {
                (figures::tiles(&view, gate, Some(("tenant", &name))))
                (shares(gate))
            },
        )
        .still("limits", settings::shown(&view, gate, &limits, is_own))
        .live("why", why::shown(reasons.as_deref()).unwrap_or_default())
        .live("accounts", accounts::shown(&view, &name, &accounts))
        .still("account", accounts::opened(&view, &name, chosen.as_ref()))
        .live(
            "statistics",
            statistics::shown(&view, tenant.statistics.as_ref(), ("tenant", &name)),
        ))
}

fn trail(view: &View) -> Markup {
    layout::trail(&[(&view.link("/tenants").text(), "Tenants")])
}

/// What holds for the tenants without limits of their own.
async fn defaults(view: View) -> Result<Content, Problem> {
    let setting = settings::read(&view, limits::DEFAULTS).await?;
    let setting = setting
        .ok_or_else(|| Problem::not_found("This role may not read the defaults of tenants."))?;
    let gate = &setting.gate;
    let name = [("name", limits::DEFAULTS)];
    let state = html! {
        @if gate.is_paused { (badge::paused(gate.paused_until, view.now())) }
    };
    let resume = html! {
        @if gate.is_paused { (levers::switch(&view, &levers::TENANT, gate, &name)) }
    };
    Ok(Content::new("Defaults of tenants")
        .still("trail", trail(&view))
        .still(
            "head",
            layout::heading(html! { "Defaults of tenants" }, state, resume),
        )
        .still("about", limits::about_defaults("tenants", "tenant"))
        .still(
            "limits",
            settings::shown(&view, gate, &setting.limits, None),
        ))
}

fn head(view: &View, gate: &Gate) -> Markup {
    let name = [("name", gate.name.as_str())];
    layout::heading(
        html! { "Tenant " (parts::name(&gate.name)) },
        gate.state_beside(view),
        levers::switch(view, &levers::TENANT, gate, &name),
    )
}

fn shares(gate: &Gate) -> Markup {
    pairs(&[
        (
            "Share of all that runs",
            bar::share(gate.running, gate.all_running),
        ),
        (
            "Share of all that waits",
            bar::share(gate.waiting, gate.all_waiting),
        ),
        ("Weight in fair queues", number::count(gate.weight)),
    ])
}
