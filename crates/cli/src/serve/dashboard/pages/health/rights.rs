//! What the viewer may see and do, in words.

use maud::{Markup, html};

use crate::serve::dashboard::html::layout::section_with;
use crate::serve::dashboard::html::table::pairs;
use crate::serve::dashboard::html::tone::Tone;
use crate::serve::dashboard::html::{badge, parts};
use crate::serve::dashboard::view::View;

pub fn shown(view: &View) -> Markup {
    let can = &view.can;
    let whether = |is_so: bool| {
        if is_so {
            badge::tone(Tone::Good, "yes")
        } else {
            badge::tone(Tone::Plain, "no")
        }
    };
    let all = |functions: &[&str]| functions.iter().all(|function| can.calls(function));
    let role = html! {
        span.faint { "of the role " (parts::name(&can.role)) ", as the server has it" }
    };
    section_with(
        "Rights",
        role,
        html! {
            (pairs(&[
                ("Sees figures", whether(can.figures())),
                ("Sees jobs", whether(can.jobs())),
                ("Sees payloads and errors", payloads(view)),
                ("Pauses and changes limits", whether(all(&["pause_queue", "set_queue", "set_tenant"]))),
                ("Retries, cancels and discards", whether(all(&["retry", "cancel", "discard"]))),
                ("Changes all jobs that match", whether(all(&["retry_many", "cancel_many", "discard_many"]))),
                ("This program takes changes", html! {
                    (whether(view.writes()))
                    @if !view.writes() { " " span.faint { "start it with --allow-writes" } }
                }),
            ]))
        },
    )
}

fn payloads(view: &View) -> Markup {
    if view.can.payloads() {
        html! {
            (badge::tone(Tone::Good, "yes")) " " span.faint { "of its queues and tenants" }
        }
    } else {
        badge::tone(Tone::Plain, "no")
    }
}
