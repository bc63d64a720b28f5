//! Names of things as links to their pages, where the viewer may open those.

use maud::{Markup, html};

use crate::serve::dashboard::html::{number, parts};
use crate::serve::dashboard::view::View;

/// Characters of a name.
const LONGEST: usize = 40;

pub fn queue(view: &View, name: &str) -> Markup {
    figures(view, "/queue", name)
}

pub fn tenant(view: &View, name: &str) -> Markup {
    figures(view, "/tenant", name)
}

pub fn tenant_or_none(view: &View, name: Option<&str>) -> Markup {
    number::or_none(name, |name| tenant(view, name))
}

/// A concurrency key.
pub fn key(view: &View, name: &str) -> Markup {
    figures(view, "/keys", name)
}

/// An account, on the page of its tenant.
pub fn account(view: &View, tenant: &str, name: &str) -> Markup {
    if !view.can.figures() {
        return parts::name(name);
    }
    let place = view
        .link("/tenant")
        .with("name", tenant)
        .with("account", name);
    link(&format!("{}#account", place.text()), name)
}

/// The page itself shows a long name whole.
fn link(href: &str, name: &str) -> Markup {
    html! { a href=(href) { (parts::cut(name, LONGEST)) } }
}

fn figures(view: &View, path: &str, name: &str) -> Markup {
    if !view.can.figures() {
        return parts::name(name);
    }
    link(&view.link(path).with("name", name).text(), name)
}

pub fn job(view: &View, id: i64) -> Markup {
    by_id(view, "/job", id, view.can.jobs())
}

pub fn job_or_none(view: &View, id: Option<i64>) -> Markup {
    number::or_none(id, |id| job(view, id))
}

pub fn batch(view: &View, id: i64) -> Markup {
    by_id(view, "/batch", id, view.can.figures())
}

fn by_id(view: &View, path: &str, id: i64, is_open: bool) -> Markup {
    if !is_open {
        return parts::mono(&id.to_string());
    }
    parts::job(&view.link(path).with("id", id.to_string()).text(), id)
}

/// A number of jobs that leads to them. `filter`: the parameters of the list of jobs.
pub fn jobs(view: &View, count: i64, filter: &[(&str, &str)]) -> Markup {
    if count == 0 || !view.can.jobs() {
        return number::count_or_faint(count);
    }
    let link = filter
        .iter()
        .fold(view.link("/jobs"), |link, (name, value)| {
            link.with(name, value)
        });
    html! { a href=(link.text()) { (number::count(count)) } }
}
