//! The limits of a batch, which are changed where they stand.

use maud::{Markup, html};

use crate::serve::dashboard::data::batches::{Batch, Settings};
use crate::serve::dashboard::html::tone::Tone;
use crate::serve::dashboard::html::{form, layout};
use crate::serve::dashboard::pages::parts::levers::action;
use crate::serve::dashboard::pages::parts::limits::{Limits, Own};
use crate::serve::dashboard::view::View;

/// Nothing where they may not be changed, or not any more.
pub fn form(view: &View, batch: &Batch, settings: Option<&Settings>) -> Markup {
    let Some(settings) = settings.filter(|_| batch.is_live && view.may("set_batch")) else {
        return html! {};
    };
    let own = Own {
        slots: settings.slots,
        rate: settings.rate,
        rate_per: Some(format!("{} seconds", settings.rate_seconds)),
        rate_seconds: Some(settings.rate_seconds),
        burst: settings.burst,
        ..Own::default()
    };
    let limits = Limits {
        own,
        inherited: None,
    };
    let priority = settings
        .priority
        .map_or_else(String::new, |priority| priority.to_string());
    let fields = html! {
        (limits.slots("slots"))
        (limits.rate())
        (form::was("priority", settings.priority))
        (form::input("priority", "Priority of the children", &priority, "each its own"))
        (form::was("max_failed", settings.max_failed))
        (form::number("max_failed", "Stop after failures", settings.max_failed, "never"))
    };
    let id = batch.id.to_string();
    layout::section(
        "Limits",
        form::post(
            &action(view, "/batch", "limits"),
            fields,
            &[("id", &id)],
            "Change the limits",
            Tone::Plain,
        ),
    )
}
