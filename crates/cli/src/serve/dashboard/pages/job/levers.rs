//! What can be done with a job, where the viewer may.

use maud::{Markup, html};

use super::found::Pause;
use crate::serve::dashboard::data::job::Job;
use crate::serve::dashboard::html::tone::Tone;
use crate::serve::dashboard::html::{badge, form, layout, number};
use crate::serve::dashboard::pages::parts::levers::action;
use crate::serve::dashboard::view::View;

/// Those that its state allows.
/// `children`: those that are live.
pub fn buttons(view: &View, job: &Job, children: i64) -> Markup {
    let id = job.id.to_string();
    let fields = [("id", id.as_str())];
    let button = |lever: &str, label: &str, tone| {
        form::button(&action(view, "/job", lever), label, &fields, tone)
    };
    let state = job.state.as_str();
    let is_waiting = ["available", "scheduled", "retryable", "blocked"].contains(&state);
    html! {
        @if view.may("retry") {
            @match state {
                "scheduled" => (button("retry", "Run now", Tone::Info)),
                "retryable" => (button("retry", "Retry now", Tone::Info)),
                "completed" => (button("retry", "Run again", Tone::Plain)),
                "cancelled" | "discarded" => (button("retry", "Retry", Tone::Info)),
                _ => {},
            }
        }
        @if view.may("cancel") {
            @if is_waiting && children == 0 { (button("cancel", "Cancel", Tone::Bad)) }
            @if is_waiting && children > 0 { (cancel_all(view, job.id, children)) }
            @if state == "running" && job.cancel_requested_at.is_none() { (button("cancel", "Ask it to stop", Tone::Bad)) }
        }
        @if view.may("discard") && is_waiting && children == 0 { (button("discard", "Discard", Tone::Bad)) }
    }
}

/// To end a parent ends its children, so that it takes a second look.
pub fn cancel_all(view: &View, id: i64, children: i64) -> Markup {
    if !view.may("cancel") {
        return html! {};
    }
    let id = id.to_string();
    html! {
        details {
            summary.button.bad { "Cancel…" }
            p { "Its children are cancelled, too: " (number::count(children)) " that have not ended. Those that run are asked to stop." }
            (form::button(&action(view, "/job", "cancel"), "Cancel the job and its children", &[("id", &id)], Tone::Bad))
        }
    }
}

pub fn priority(view: &View, job: &Job) -> Markup {
    if job.finished_at.is_some() || !view.may("reprioritize") {
        return html! {};
    }
    let id = job.id.to_string();
    let text = job.priority.to_string();
    // The field of numbers takes none below 0.
    let field = html! { (form::input("priority", "Priority (lower runs first)", &text, "")) };
    layout::section(
        "Change its place",
        form::post(
            &action(view, "/job", "priority"),
            field,
            &[("id", &id)],
            "Set the priority",
            Tone::Plain,
        ),
    )
}

/// A pause of its session holds up all jobs of that.
pub fn session(view: &View, job: &Job, pause: Option<&Pause>) -> Markup {
    let Some(session) = job.session.as_deref() else {
        return html! {};
    };
    let id = job.id.to_string();
    let mut fields = vec![
        ("id", id.as_str()),
        ("queue", job.queue.as_str()),
        ("session", session),
    ];
    if let Some(tenant) = job.tenant.as_deref() {
        fields.push(("tenant", tenant));
    }
    let with = |seconds: &'static str| [fields.as_slice(), &[("seconds", seconds)]].concat();
    let button = |lever: &str, label: &str, fields: &[(&str, &str)], tone| {
        form::button(&action(view, "/session", lever), label, fields, tone)
    };
    let buttons = html! {
        @if pause.is_some() {
            @if view.may("resume_session") { (button("resume", "Resume the session", &fields, Tone::Info)) }
        } @else if view.may("pause_session") {
            (button("pause", "Pause the session 10 min", &with("600"), Tone::Plain))
            (button("pause", "Until resumed", &with(""), Tone::Plain))
        }
    };
    if pause.is_none() && !view.may("pause_session") {
        return html! {};
    }
    layout::section(
        "Session",
        html! {
            p { "Jobs of session " bdi { (session) } " run one at a time, in order." }
            div.actions {
                @if let Some(pause) = pause { (badge::paused(pause.until, view.now())) }
                (buttons)
            }
        },
    )
}
