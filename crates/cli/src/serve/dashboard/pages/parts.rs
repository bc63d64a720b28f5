//! What several pages show: names that lead to the pages of their things.

use maud::Markup;

use crate::serve::dashboard::html::{number, parts};
use crate::serve::dashboard::view::View;

pub fn queue(view: &View, name: &str) -> Markup {
    parts::link(&view.link("/queue").with("name", name).text(), name)
}

pub fn tenant(view: &View, name: &str) -> Markup {
    parts::link(&view.link("/tenant").with("name", name).text(), name)
}

/// An account is seen on the page of its tenant.
pub fn account(view: &View, tenant: &str, name: &str) -> Markup {
    parts::link(&view.link("/tenant").with("name", tenant).text(), name)
}

pub fn key(view: &View, name: &str) -> Markup {
    parts::link(&view.link("/keys").with("name", name).text(), name)
}

pub fn job(view: &View, id: i64) -> Markup {
    parts::job(&view.link("/job").with("id", id.to_string()).text(), id)
}

pub fn batch(view: &View, id: i64) -> Markup {
    parts::job(&view.link("/batch").with("id", id.to_string()).text(), id)
}

/// What `show` makes of a name that may be absent.
pub fn named(name: Option<&str>, show: impl FnOnce(&str) -> Markup) -> Markup {
    number::or_none(name, show)
}
