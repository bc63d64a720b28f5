//! What happened to a thing, in the order of time.

use maud::{Markup, html};

use super::icon::icon;
use super::time;
use super::tone::Tone;

#[derive(Clone, Debug, Default)]
pub struct Step {
    pub at: Option<f64>,
    pub title: String,
    /// How long it took, by whom.
    pub detail: String,
    pub tone: Tone,
    /// The text of an error, for example.
    pub note: Option<Markup>,
}

pub fn timeline(steps: &[Step], now: f64) -> Markup {
    html! {
        ol.timeline {
            @for step in steps {
                li class=(step.tone.class()) {
                    (icon(step.tone.icon()))
                    div {
                        p {
                            strong { (step.title) }
                            @if !step.detail.is_empty() { " " span.faint { (step.detail) } }
                        }
                        @if step.at.is_some() { p.when { (time::full(step.at, now)) } }
                        @if let Some(note) = &step.note { (note) }
                    }
                }
            }
        }
    }
}
