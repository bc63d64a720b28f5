//! Payload, metadata, result and progress of a job, folded; or that the role may not see them.

use maud::{Markup, html};
use serde_json::value::RawValue;

use super::found::Job;
use crate::serve::dashboard::html::tone::Tone;
use crate::serve::dashboard::html::{json, layout, note, number};

/// Longer texts are not sent to browsers.
const LONGEST: usize = 256 * 1024;

/// What the producer passed: it does not change.
pub fn passed(job: &Job, role: &str) -> Markup {
    if !job.is_open {
        return layout::section(
            "Payload",
            note::note(
                Tone::Plain,
                "Payload, result, metadata and errors are not shown.",
                &format!("The role {role} sees jobs as an operator does."),
                Some(
                    "turnstile.allow_tenant lets a role see whole jobs, of some tenants or of all.",
                ),
            ),
        );
    }
    layout::section(
        "What was passed",
        html! {
            (one("Payload", job.payload.as_deref()))
            (one("Metadata", job.metadata.as_deref()))
        },
    )
}

/// What came of it until now.
pub fn made(job: &Job) -> Markup {
    if job.result.is_none() && job.progress.is_none() {
        return html! {};
    }
    layout::section(
        "What came of it",
        html! {
            (one("Result", job.result.as_deref()))
            (one("Progress", job.progress.as_deref()))
        },
    )
}

fn one(name: &str, text: Option<&RawValue>) -> Markup {
    let Some(text) = text else { return html! {} };
    let text = text.get();
    if text.len() > LONGEST {
        let (size, unit) = number::bytes_text(i64::try_from(text.len()).unwrap_or(i64::MAX));
        return html! { p { (name) ": " span.faint { (size) "\u{a0}" (unit) ", too long for this page" } } };
    }
    json::folded(name, text)
}
