//! The limits of a tenant over all queues, and those of tenants that have none of their own.

use maud::{Markup, html};
use serde::Deserialize;

use crate::listener::Problem;
use crate::serve::dashboard::html::layout::section_with;
use crate::serve::dashboard::html::table::pairs;
use crate::serve::dashboard::html::tone::Tone;
use crate::serve::dashboard::html::{badge, form, layout, number};
use crate::serve::dashboard::pages::Content;
use crate::serve::dashboard::pages::parts::gate::{Gate, limit, rate};
use crate::serve::dashboard::pages::parts::levers;
use crate::serve::dashboard::pages::parts::limits::{self, Limits};
use crate::serve::dashboard::value::Value;
use crate::serve::dashboard::view::View;

const SETTING: &str = include_str!("../../sql/tenant_setting.sql");

/// What holds for a tenant, and what of it is its own.
#[derive(Debug, Deserialize)]
pub struct Setting {
    pub is_own: bool,
    pub limits: Limits,
    #[serde(flatten)]
    gate: Gate,
}

/// Nothing where the viewer may not know.
pub async fn read(view: &View, name: &str) -> Result<Option<Setting>, Problem> {
    if !view.can.reads("tenant") || !view.can.reads("tenant_in_force") {
        return Ok(None);
    }
    view.row(SETTING, &[Value::from(name)]).await
}

/// What holds for the tenants without limits of their own.
pub async fn defaults(view: View) -> Result<Content, Problem> {
    let setting = read(&view, limits::DEFAULTS).await?;
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
        .still("trail", super::trail(&view))
        .still(
            "head",
            layout::heading(html! { "Defaults of tenants" }, state, resume),
        )
        .still("about", limits::about_defaults("tenants", "tenant"))
        .still("limits", shown(&view, gate, &setting.limits, None)))
}

pub fn shown(view: &View, gate: &Gate, limits: &Limits, is_own: Option<bool>) -> Markup {
    let content = if view.may("set_tenant") {
        edited(view, &gate.name, limits)
    } else {
        pairs(&[
            ("Run at once", limit(gate.slots)),
            ("Wait at most", limit(gate.max_waiting)),
            ("Start at most", rate(gate)),
            ("Weight", number::count(gate.weight)),
        ])
    };
    let origin = limits::origin(view, "/tenant", is_own);
    section_with("Limits over all queues", origin, content)
}

fn edited(view: &View, name: &str, limits: &Limits) -> Markup {
    let fields = html! {
        (limits.slots("slots"))
        (limits.max_waiting())
        (limits.weight())
        (limits.rate())
    };
    let action = levers::action(view, "/tenant", "limits");
    form::post(&action, fields, &[("name", name)], "Set limits", Tone::Info)
}
