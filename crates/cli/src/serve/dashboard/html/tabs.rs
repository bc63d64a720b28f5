//! Links between views of the same things, as the states of jobs.

use maud::{Markup, html};

use super::icon::{Icon, icon};
use super::number;

#[derive(Clone, Debug)]
pub struct Tab<'a> {
    pub label: &'a str,
    pub href: String,
    pub icon: Option<Icon>,
    /// How many there are, if that costs nothing to know.
    pub count: Option<i64>,
    pub is_here: bool,
}

pub fn tabs(label: &str, tabs: &[Tab<'_>]) -> Markup {
    html! {
        nav.tabs aria-label=(label) {
            ul {
                @for tab in tabs {
                    li {
                        a href=(tab.href) aria-current=[tab.is_here.then_some("true")] {
                            @if let Some(shape) = tab.icon { (icon(shape)) }
                            (tab.label)
                            @if let Some(count) = tab.count { " " span.faint { (number::count(count)) } }
                        }
                    }
                }
            }
        }
    }
}
