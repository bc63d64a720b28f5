//! Forms. Those that change something are sent by POST and disable their button once they are sent.

use maud::{Markup, html};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::tone::Tone;
use crate::serve::dashboard::fields::ENCODED;

/// Fields that are sent along and not shown.
pub type Hidden<'a> = &'a [(&'a str, &'a str)];

fn hidden(fields: Hidden<'_>) -> Markup {
    html! {
        @for (name, value) in fields { input type="hidden" name=(name) value=(value); }
    }
}

/// The same of a form that is sent by POST. Browsers make each line end in a value two characters, so one that has any is encoded.
fn posted(fields: Hidden<'_>) -> Markup {
    html! {
        @for (name, value) in fields {
            @if value.contains(['\n', '\r']) {
                input type="hidden" name={ (name) (ENCODED) } value=(utf8_percent_encode(value, NON_ALPHANUMERIC));
            } @else {
                input type="hidden" name=(name) value=(value);
            }
        }
    }
}

/// A form that is nothing but its button.
pub fn button(action: &str, label: &str, fields: Hidden<'_>, tone: Tone) -> Markup {
    html! {
        form.alone method="post" action=(action) data-busy {
            (posted(fields))
            button class=(tone.class()) { (label) }
        }
    }
}

/// A link that looks like a button: to the page that shows what a change would do.
pub fn link_button(href: &str, label: &str, tone: Tone) -> Markup {
    html! { a class={ "button " (tone.class()) } href=(href) { (label) } }
}

/// Buttons and small forms in a row.
pub fn row(content: &[Markup]) -> Markup {
    html! { div.actions { @for one in content { (one) } } }
}

/// A form with fields, which are of `input`, `number`, `select` and the like.
pub fn post(action: &str, fields: Markup, hide: Hidden<'_>, label: &str, tone: Tone) -> Markup {
    html! {
        form.fields method="post" action=(action) data-busy {
            (posted(hide))
            (fields)
            div.submit { button class=(tone.class()) { (label) } }
        }
    }
}

// ---- Fields ---------------------------------------------------------------------------------------

pub fn input(name: &str, label: &str, value: &str, placeholder: &str) -> Markup {
    html! {
        label.field {
            span { (label) }
            input type="text" name=(name) value=(value) placeholder=[given(placeholder)] autocomplete="off" spellcheck="false";
        }
    }
}

/// The field that the key `/` leads to. One on a page.
pub fn search(name: &str, label: &str, value: &str, placeholder: &str) -> Markup {
    html! {
        label.field.search {
            span { (label) " " kbd aria-hidden="true" { "/" } }
            input type="search" name=(name) value=(value) placeholder=[given(placeholder)] autocomplete="off" spellcheck="false"
                data-filter aria-keyshortcuts="/";
        }
    }
}

pub fn number(name: &str, label: &str, value: Option<i64>, placeholder: &str) -> Markup {
    html! {
        label.field {
            span { (label) }
            input type="number" name=(name) value=[value] placeholder=[given(placeholder)] min="0" step="1" inputmode="numeric" autocomplete="off";
        }
    }
}

/// A number, the words for no limit, or nothing.
pub fn limit(name: &str, label: &str, value: Option<&str>, placeholder: &str) -> Markup {
    html! {
        label.field {
            span { (label) }
            input type="text" name=(name) value=[value] placeholder=[given(placeholder)] title="A number, “no limit”, or nothing" inputmode="numeric"
                autocomplete="off" spellcheck="false";
        }
    }
}

/// Options are values with their words.
pub fn select(name: &str, label: &str, options: &[(&str, &str)], chosen: &str) -> Markup {
    html! {
        label.field {
            span { (label) }
            select name=(name) {
                @for (value, text) in options {
                    option value=(value) selected[*value == chosen] { (text) }
                }
            }
        }
    }
}

fn given(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

/// What stood in a field when the page was drawn, so that a form changes only what was changed in it.
pub fn was(name: &str, value: Option<impl std::fmt::Display>) -> Markup {
    let value = value.map_or_else(String::new, |value| value.to_string());
    html! { input type="hidden" name={ "was_" (name) } value=(value); }
}

// ---- Forms of their own kind ----------------------------------------------------------------------

/// Filters of a page. `clear` leads to the page without any; it is absent if none is set.
pub fn filters(action: &str, fields: Markup, hide: Hidden<'_>, clear: Option<&str>) -> Markup {
    html! {
        form.filters method="get" action=(action) role="search" {
            (hidden(hide))
            (fields)
            div.submit {
                button.plain { "Filter" }
                @if let Some(clear) = clear { a href=(clear) { "Clear" } }
            }
        }
    }
}
