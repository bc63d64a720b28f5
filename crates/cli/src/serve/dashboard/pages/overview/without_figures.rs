//! The overview of a viewer who may not read figures: a tenant's, who sees its jobs.

use maud::{Markup, html};

use crate::serve::dashboard::html::tone::Tone;
use crate::serve::dashboard::html::{form, layout, note};
use crate::serve::dashboard::pages::parts::empty;
use crate::serve::dashboard::view::View;

const LISTS: [(&str, &str); 6] = [
    ("Running", "running"),
    ("Waiting", "available"),
    ("Scheduled", "scheduled"),
    ("To retry", "retryable"),
    ("Completed", "completed"),
    ("Discarded", "discarded"),
];

pub fn shown(view: &View) -> Markup {
    if !view.can.jobs() {
        return empty::no_rights(view);
    }
    let all = form::link_button(&view.link("/jobs").text(), "All jobs", Tone::Plain);
    let lists = LISTS.map(|(label, state)| {
        let link = view.link("/jobs").with("state", state);
        form::link_button(&link.text(), label, Tone::Plain)
    });
    let failures = form::link_button(
        &view.link("/failures").text(),
        "By kind and error",
        Tone::Plain,
    );
    let text = format!(
        "The role {} sees the jobs that it has permissions for, and no figures of queues and tenants.",
        view.can.role
    );
    html! {
        (note::note(Tone::Info, "Your jobs", &text, None))
        (layout::section("Jobs", form::row(&[&[all], lists.as_slice()].concat())))
        (layout::section("Failures", form::row(&[failures])))
    }
}
