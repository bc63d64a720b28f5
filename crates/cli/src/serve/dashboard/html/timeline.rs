//! What happened to a thing, in the order of time.

use maud::{Markup, html};

use super::icon::{Icon, icon};
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

/// Where there are more, those between the first and the last ones are folded.
const MOST: usize = 12;
const LAST: usize = 8;

pub fn timeline(steps: &[Step], now: f64) -> Markup {
    let folded = if steps.len() > MOST {
        1..steps.len() - LAST
    } else {
        0..0
    };
    let (before, from) = steps.split_at_checked(folded.start).unwrap_or_default();
    let (between, after) = from.split_at_checked(folded.len()).unwrap_or_default();
    html! {
        ol.timeline {
            @for step in before { (drawn(step, now)) }
            @if !between.is_empty() {
                li.plain {
                    (icon(Icon::Dot))
                    details {
                        summary { (between.len()) " more" }
                        ol { @for step in between { (drawn(step, now)) } }
                    }
                }
            }
            @for step in after { (drawn(step, now)) }
        }
    }
}

fn drawn(step: &Step, now: f64) -> Markup {
    html! {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_is_there_once() {
        for count in [0, 1, MOST, MOST + 1, 40] {
            let steps: Vec<Step> = (0..count)
                .map(|number| Step {
                    title: format!("step {number}."),
                    ..Step::default()
                })
                .collect();
            let text = timeline(&steps, 0.0).into_string();
            for number in 0..count {
                assert_eq!(text.matches(&format!("step {number}.")).count(), 1);
            }
            assert_eq!(text.contains("<details>"), count > MOST);
        }
    }
}
