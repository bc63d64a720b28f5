//! Buttons that pause and resume a gate, where the viewer may use them.

use maud::{Markup, html};

use super::gate::Gate;
use crate::serve::dashboard::html::form::{self, Hidden};
use crate::serve::dashboard::html::tone::Tone;
use crate::serve::dashboard::view::View;

/// Where the levers of a kind of gate are, and which functions they call.
pub struct Switch<'a> {
    pub path: &'a str,
    pub pause: &'a str,
    pub resume: &'a str,
}

pub const QUEUE: Switch<'_> = Switch {
    path: "/queue",
    pause: "pause_queue",
    resume: "resume_queue",
};

pub const TENANT: Switch<'_> = Switch {
    path: "/tenant",
    pause: "pause_tenant",
    resume: "resume_tenant",
};

pub const ACCOUNT: Switch<'_> = Switch {
    path: "/account",
    pause: "pause_account",
    resume: "resume_account",
};

pub const KEY: Switch<'_> = Switch {
    path: "/key",
    pause: "pause_concurrency",
    resume: "resume_concurrency",
};

const PAUSES: [(&str, &str); 3] = [
    ("Pause 10 min", "600"),
    ("Pause 1 h", "3600"),
    ("Pause until resumed", ""),
];

/// `names`: the fields that say which gate.
pub fn switch(view: &View, switch: &Switch<'_>, gate: &Gate, names: Hidden<'_>) -> Markup {
    // A trial ends with a pause.
    if gate.is_paused || gate.one_at_a_time {
        return html! {
            @if view.may(switch.resume) {
                (form::button(&action(view, switch.path, "resume"), "Resume", names, Tone::Info))
            }
        };
    }
    if !view.may(switch.pause) {
        return html! {};
    }
    let action = action(view, switch.path, "pause");
    html! {
        @for (label, seconds) in PAUSES {
            @let fields = with(names, ("seconds", seconds));
            (form::button(&action, label, &fields, Tone::Plain))
        }
    }
}

pub fn action(view: &View, path: &str, lever: &str) -> String {
    view.link(&format!("{path}/{lever}")).text()
}

fn with<'a>(names: Hidden<'a>, field: (&'a str, &'a str)) -> Vec<(&'a str, &'a str)> {
    names.iter().copied().chain([field]).collect()
}
