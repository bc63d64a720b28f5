//! Why a job does not start, in words, with the ways to what holds it up; and when it may start.

use maud::{Markup, html};

use crate::listener::Problem;
use crate::serve::dashboard::data::job::{Estimate, Reason};
use crate::serve::dashboard::html::icon::Icon;
use crate::serve::dashboard::html::table::{Head, table};
use crate::serve::dashboard::html::tone::Tone;
use crate::serve::dashboard::html::{badge, layout, note, number, parts, time};
use crate::serve::dashboard::pages::parts::links;
use crate::serve::dashboard::view::View;

/// The reason as a person says it, with its shape.
fn words(reason: &str) -> (Icon, Tone, &str) {
    match reason {
        "scheduled" => (Icon::Clock, Tone::Plain, "not due yet"),
        "retry" => (Icon::Again, Tone::Warn, "waits for its retry"),
        "paused" => (Icon::Pause, Tone::Warn, "paused"),
        "full" => (Icon::Barred, Tone::Warn, "no free slot"),
        "rate" => (Icon::Hourglass, Tone::Warn, "rate is used up"),
        "session_busy" => (Icon::Play, Tone::Plain, "session is busy"),
        "session_order" => (
            Icon::Hourglass,
            Tone::Plain,
            "another is first in the session",
        ),
        "unique_running" => (Icon::Play, Tone::Plain, "unique key is in use"),
        "behind" => (Icon::Hourglass, Tone::Plain, "others are first"),
        "blocked" => (Icon::Hourglass, Tone::Plain, "waits for other jobs"),
        "locked" => (Icon::Lock, Tone::Plain, "locked"),
        "no_worker" => (Icon::Alert, Tone::Bad, "no worker"),
        "outside_memory" => (Icon::Alert, Tone::Warn, "outside of memory"),
        other => (Icon::Dot, Tone::Plain, other),
    }
}

fn explanation(reason: &Reason, now: f64) -> Markup {
    // The server names columns, which have no names here.
    let said = match reason.reason.as_str() {
        "scheduled" => "Its time has not come.".to_owned(),
        "retry" => "It failed, and is due again later.".to_owned(),
        _ => reason.detail.clone().unwrap_or_default(),
    };
    html! {
        bdi { (said) }
        @if let Some(at) = reason.opens_at { " This ends " (time::ago(Some(at), now)) "." }
    }
}

fn gate(view: &View, tenant: Option<&str>, reason: &Reason) -> Markup {
    let (Some(gate), Some(name)) = (reason.gate.as_deref(), reason.name.as_deref()) else {
        return number::none();
    };
    let link = match (gate, tenant, name.parse()) {
        ("queue", ..) => links::queue(view, name),
        ("tenant", ..) => links::tenant(view, name),
        ("account", Some(tenant), _) => links::account(view, tenant, name),
        ("concurrency", ..) => links::key(view, name),
        ("batch", _, Ok(id)) => links::batch(view, id),
        _ => parts::name(name),
    };
    html! { (gate_word(gate)) " " (link) }
}

/// `tenant`: that of the job, to which its account belongs.
pub fn reasons(
    view: &View,
    tenant: Option<&str>,
    found: &Result<Vec<Reason>, Problem>,
    estimate: Option<&Estimate>,
) -> Markup {
    let content = match found {
        Err(problem) => note::note(
            Tone::Info,
            "It is not known why it waits.",
            problem.detail(),
            problem.advice(),
        ),
        Ok(reasons) if reasons.is_empty() => html! {
            p { "Nothing keeps it: the next claim of one job from its queue takes it." }
        },
        Ok(reasons) => listed(view, tenant, reasons),
    };
    layout::section(
        "Why it waits",
        html! {
            (content)
            @if let Some(estimate) = estimate { p { (estimated(view, estimate)) } }
        },
    )
}

fn listed(view: &View, tenant: Option<&str>, reasons: &[Reason]) -> Markup {
    let heads = [
        Head::text("Reason"),
        Head::text("What it says"),
        Head::text("Where"),
    ];
    let rows = reasons
        .iter()
        .map(|reason| {
            let (icon, tone, text) = words(&reason.reason);
            vec![
                badge::shaped(icon, tone, text),
                explanation(reason, view.now()),
                place(view, tenant, reason),
            ]
        })
        .collect();
    table(
        &heads,
        rows,
        "All that keeps it from starting at this moment",
        "",
    )
}

/// The job that is in the way, else the gate.
fn place(view: &View, tenant: Option<&str>, reason: &Reason) -> Markup {
    if let Some(holder) = reason.holder {
        return html! { "job " (links::job(view, holder)) };
    }
    gate(view, tenant, reason)
}

fn estimated(view: &View, estimate: &Estimate) -> Markup {
    let slowest = estimate.bottleneck.as_deref().map(gate_word);
    html! {
        @match estimate.starts_at {
            Some(at) => { "It may start " strong { (time::ago(Some(at), view.now())) } },
            None => "When it starts is not known, since nothing moves",
        }
        ": "
        @if estimate.is_capped { "more than " }
        (number::count(estimate.ahead)) @if estimate.ahead == 1 { " job is" } @else { " jobs are" } " before it"
        @if let (Some(pace), Some(slowest)) = (estimate.starts_per_minute, slowest) {
            ", and " (number::short(pace)) " a minute start at its slowest gate, the " (slowest)
        }
        "."
    }
}

fn gate_word(gate: &str) -> &str {
    match gate {
        "concurrency" => "key",
        "unique" => "unique key",
        other => other,
    }
}
