//! Links to newer and older rows. There is no number of pages, since nobody counts them.

use maud::{Markup, html};

pub fn pager(newer: Option<&str>, older: Option<&str>, note: &str) -> Markup {
    html! {
        nav.pager aria-label="Pages" {
            @match newer {
                Some(href) => a.button href=(href) rel="prev" { "← Newer" },
                None => span.button.off aria-hidden="true" { "← Newer" },
            }
            @match older {
                Some(href) => a.button href=(href) rel="next" { "Older →" },
                None => span.button.off aria-hidden="true" { "Older →" },
            }
            @if !note.is_empty() { span.faint { (note) } }
        }
    }
}
