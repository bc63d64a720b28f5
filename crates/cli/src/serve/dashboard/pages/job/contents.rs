//! Payload, metadata, result and progress of a job, folded; or that the role may not see them.

use maud::{Markup, html};
use serde_json::value::RawValue;

use crate::serve::dashboard::data::job::Job;
use crate::serve::dashboard::html::tone::Tone;
use crate::serve::dashboard::html::{json, layout, note, number};

pub fn folded(job: &Job, role: &str) -> Markup {
    let Some(documents) = &job.documents else {
        return note::note(
            Tone::Plain,
            "Payload, result, metadata, progress and errors are not shown.",
            &format!("The role {role} sees this job as an operator does."),
            Some("turnstile.allow_tenant lets a role see whole jobs, of some tenants or of all."),
        );
    };
    layout::section(
        "Contents",
        html! {
            (one("Payload", documents.payload.as_deref(), documents.payload_bytes))
            (one("Metadata", documents.metadata.as_deref(), documents.metadata_bytes))
            (one("Progress", documents.progress.as_deref(), None))
            (one("Result", documents.result.as_deref(), documents.result_bytes))
        },
    )
}

/// A text that is there but was not given is a long one.
fn one(name: &str, text: Option<&RawValue>, bytes: Option<i64>) -> Markup {
    match (text, bytes) {
        (Some(text), _) => json::folded(name, text.get()),
        (None, Some(bytes)) => html! {
            p { (name) ": " (number::bytes(bytes)) ", which is too long for this page" }
        },
        (None, None) => html! {},
    }
}
