//! A message in the place of what is not there, or above what is: nothing found, an error, something to know.

use maud::{Markup, html};

use super::icon::icon;
use super::tone::Tone;

/// `text` says what, `hint` what to do.
pub fn note(kind: Tone, title: &str, text: &str, hint: Option<&str>) -> Markup {
    with(kind, title, text, hint, html! {})
}

/// A note with links or buttons.
pub fn with(kind: Tone, title: &str, text: &str, hint: Option<&str>, more: Markup) -> Markup {
    html! {
        div class={ "note " (kind.class()) } role=[(kind == Tone::Bad).then_some("alert")] {
            (icon(kind.icon()))
            div {
                p.note-title { (title) }
                @if !text.is_empty() { p { (text) } }
                @if let Some(hint) = hint { p.faint { (hint) } }
                (more)
            }
        }
    }
}

/// Nothing is there, and that is no fault.
pub fn empty(text: &str) -> Markup {
    html! { p.empty { (text) } }
}
