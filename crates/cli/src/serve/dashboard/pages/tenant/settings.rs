//! The limits of a tenant over all queues.

use maud::{Markup, html};
use serde::Deserialize;

use crate::listener::Problem;
use crate::serve::dashboard::html::layout::section_with;
use crate::serve::dashboard::html::table::pairs;
use crate::serve::dashboard::html::tone::Tone;
use crate::serve::dashboard::html::{form, number};
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
    pub gate: Gate,
}

/// Nothing where the viewer may not know.
pub async fn read(view: &View, name: &str) -> Result<Option<Setting>, Problem> {
    if !view.can.reads("tenant") || !view.can.reads("tenant_in_force") {
        return Ok(None);
    }
    view.row(SETTING, &[Value::from(name)]).await
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
