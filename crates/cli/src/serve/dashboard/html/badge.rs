//! The state of a thing: a word, a shape and a color.

use maud::{Markup, html};

use super::icon::{Icon, icon};
use super::time;
use super::tone::Tone;

/// Of a state of jobs: its shape and how good it is.
fn look(state: &str) -> (Icon, Tone) {
    match state {
        "available" => (Icon::Ring, Tone::Plain),
        "scheduled" => (Icon::Clock, Tone::Plain),
        "running" => (Icon::Play, Tone::Info),
        "retryable" => (Icon::Again, Tone::Warn),
        "blocked" => (Icon::Hourglass, Tone::Plain),
        "completed" => (Icon::Check, Tone::Good),
        "cancelled" => (Icon::Barred, Tone::Plain),
        "discarded" => (Icon::Cross, Tone::Bad),
        _ => (Icon::Dot, Tone::Plain),
    }
}

/// The state of a job, in a table.
pub fn state(state: &str) -> Markup {
    let (shape, tone) = look(state);
    shaped(shape, tone, state)
}

/// The state of a job, in a heading: readable from afar.
pub fn state_large(state: &str) -> Markup {
    let (shape, tone) = look(state);
    html! {
        span class={ "badge large " (tone.class()) } { (icon(shape)) (state) }
    }
}

/// The shape that stands for a state of jobs.
pub fn icon_of_state(state: &str) -> Icon {
    look(state).0
}

/// How good a state of jobs is.
pub fn tone_of_state(state: &str) -> Tone {
    look(state).1
}

/// For good, or until a time in seconds since 1970.
pub fn paused(until: Option<f64>, now: f64) -> Markup {
    html! {
        span class={ "badge " (Tone::Warn.class()) } {
            (icon(Icon::Pause)) "paused"
            @if let Some(until) = until { span { "(ends " (time::ago(Some(until), now)) ")" } }
        }
    }
}

pub fn tone(tone: Tone, text: &str) -> Markup {
    shaped(tone.icon(), tone, text)
}

pub fn shaped(shape: Icon, tone: Tone, text: &str) -> Markup {
    html! {
        span class={ "badge " (tone.class()) } { (icon(shape)) (text) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_has_its_own_shape_and_its_word() {
        let states = [
            "available",
            "scheduled",
            "running",
            "retryable",
            "blocked",
            "completed",
            "cancelled",
            "discarded",
            "of a later version",
        ];
        for (at, name) in states.iter().enumerate() {
            assert!(
                state(name)
                    .into_string()
                    .contains(&format!("</svg>{name}<"))
            );
            for other in states.iter().skip(at + 1) {
                assert_ne!(look(name).0, look(other).0, "{name}, {other}");
            }
        }
    }
}
