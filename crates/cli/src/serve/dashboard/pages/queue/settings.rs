//! The settings of a queue that are in force, and the form of its limits.

use maud::{Markup, html};
use serde::Deserialize;

use crate::listener::Problem;
use crate::serve::dashboard::html::layout::{section, section_with};
use crate::serve::dashboard::html::table::pairs;
use crate::serve::dashboard::html::tone::Tone;
use crate::serve::dashboard::html::{form, number, time};
use crate::serve::dashboard::pages::parts::gate::{Gate, limit, rate};
use crate::serve::dashboard::pages::parts::levers;
use crate::serve::dashboard::pages::parts::limits::{self, Limits};
use crate::serve::dashboard::value::Value;
use crate::serve::dashboard::view::View;

const SETTING: &str = include_str!("../../sql/queue_setting.sql");

#[derive(Debug, Deserialize)]
pub struct Settings {
    policy: Option<String>,
    aging_seconds: Option<f64>,
    lease_seconds: Option<f64>,
    max_attempts: Option<i64>,
    retry_base_seconds: Option<f64>,
    retry_cap_seconds: Option<f64>,
    session_on_retry: Option<String>,
    notify: Option<bool>,
    durable_claims: Option<bool>,
    keep_completed_seconds: Option<f64>,
    keep_discarded_seconds: Option<f64>,
}

/// What holds for a queue, and what of it is its own.
#[derive(Debug, Deserialize)]
pub struct Setting {
    pub is_own: bool,
    pub limits: Limits,
    #[serde(flatten)]
    pub gate: Gate,
    #[serde(flatten)]
    pub settings: Settings,
}

/// Nothing where the viewer may not know.
pub async fn read(view: &View, name: &str) -> Result<Option<Setting>, Problem> {
    if !view.can.reads("queue") || !view.can.reads("queue_in_force") {
        return Ok(None);
    }
    view.row(SETTING, &[Value::from(name)]).await
}

pub fn shown(view: &View, gate: &Gate, settings: &Settings, is_own: Option<bool>) -> Markup {
    let text = |text: &Option<String>| number::or_none(text.clone(), |text| html! { (text) });
    let span = |seconds: Option<f64>| number::or_none(seconds, time::span);
    let kept = |seconds: Option<f64>| match seconds {
        Some(seconds) => time::span(seconds),
        None => html! { "for ever" },
    };
    let shown = pairs(&[
        ("Run at once", limit(gate.slots)),
        ("Wait at most", limit(gate.max_waiting)),
        ("Start at most", rate(gate)),
        ("Order", text(&settings.policy)),
        ("Aging", span(settings.aging_seconds)),
        ("Lease", span(settings.lease_seconds)),
        (
            "Attempts",
            number::or_none(settings.max_attempts, number::count),
        ),
        ("First retry after", span(settings.retry_base_seconds)),
        ("Longest wait for a retry", span(settings.retry_cap_seconds)),
        ("Session during a retry", text(&settings.session_on_retry)),
        ("Notifies workers", yes_or_no(settings.notify)),
        (
            "Claims wait for the disk",
            yes_or_no(settings.durable_claims),
        ),
        (
            "Keeps completed jobs",
            kept(settings.keep_completed_seconds),
        ),
        (
            "Keeps other ended jobs",
            kept(settings.keep_discarded_seconds),
        ),
    ]);
    section_with(
        "Settings in force",
        limits::origin(view, "/queue", is_own),
        shown,
    )
}

fn yes_or_no(flag: Option<bool>) -> Markup {
    number::or_none(flag, |flag| html! { @if flag { "yes" } @else { "no" } })
}

pub fn form(view: &View, name: &str, limits: &Limits) -> Markup {
    if !view.may("set_queue") {
        return html! {};
    }
    let fields = html! {
        (limits.slots("max_running"))
        (limits.max_waiting())
        (limits.rate())
    };
    let action = levers::action(view, "/queue", "limits");
    section(
        "Change limits",
        form::post(&action, fields, &[("name", name)], "Set limits", Tone::Info),
    )
}
