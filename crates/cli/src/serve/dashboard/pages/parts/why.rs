//! Why jobs wait, by lanes: a lane is the jobs that share queue, tenant, account, session, keys and priority.

use maud::{Markup, html};
use serde::Deserialize;

use crate::listener::Problem;
use crate::serve::dashboard::html::number;
use crate::serve::dashboard::html::table::{Head, table};
use crate::serve::dashboard::html::tone::Tone;
use crate::serve::dashboard::html::{layout, note};
use crate::serve::dashboard::value::Value;
use crate::serve::dashboard::view::View;

const WHY: &str = include_str!("../../sql/why.sql");

#[derive(Clone, Debug, Deserialize)]
pub struct Reason {
    pub reason: String,
    pub gate: Option<String>,
    pub lanes: i64,
    pub is_estimate: bool,
}

/// Nothing, where the viewer may not ask or the server keeps no memory of lanes.
pub async fn reasons(
    view: &View,
    queue: Option<&str>,
    tenant: Option<&str>,
) -> Result<Option<Vec<Reason>>, Problem> {
    if !view.can.calls("why_waiting_summary") || view.can.in_recovery {
        return Ok(None);
    }
    view.rows(WHY, &[Value::from(queue), Value::from(tenant)])
        .await
        .map(Some)
}

/// Nothing, where that is not known.
pub fn shown(reasons: Option<&[Reason]>) -> Option<Markup> {
    let reasons = reasons?;
    let is_estimate = reasons.iter().any(|reason| reason.is_estimate);
    let caption = if is_estimate {
        "Groups of jobs with the same limits and priority, an estimate from 10,000 of them"
    } else {
        "Groups of jobs with the same limits and priority; one that several limits hold up counts at each"
    };
    let rows = reasons
        .iter()
        .map(|reason| {
            let (short, long) = words(&reason.reason, reason.gate.as_deref());
            vec![
                html! { (short) },
                number::count(reason.lanes),
                html! { span.faint { (long) } },
            ]
        })
        .collect();
    let heads = [
        Head::text("Reason"),
        Head::number("Groups")
            .titled("Lanes: jobs that share queue, tenant, account, session, keys and priority"),
        Head::text("What it means"),
    ];
    let table = table(&heads, rows, caption, "No job that is due waits.");
    Some(layout::section("Why jobs wait", table))
}

/// In a few words, and in a sentence.
pub fn words(reason: &str, gate: Option<&str>) -> (String, &'static str) {
    let gate = gate.unwrap_or("gate");
    let of = match gate {
        "concurrency" => "concurrency key",
        "unique" => "unique key",
        other => other,
    };
    match reason {
        "paused" => (
            format!("{of} is paused"),
            "It starts nothing until it is resumed or gets slots.",
        ),
        "full" => (
            format!("{of} is full"),
            "All its slots are taken: one starts when one ends.",
        ),
        "rate" => (
            format!("rate of the {of}"),
            "As many as its rate allows have started. Time opens it.",
        ),
        "session_busy" => (
            "session is busy".to_owned(),
            "A job of the same session runs or waits for another attempt.",
        ),
        "session_order" => (
            "session's order".to_owned(),
            "An earlier job of the same session comes first.",
        ),
        "unique_running" => (
            "unique key runs".to_owned(),
            "A job with the same unique key runs.",
        ),
        "behind" => (
            "next in line".to_owned(),
            "Nothing holds it up but those before it: more workers would help.",
        ),
        "no_worker" => (
            "no worker".to_owned(),
            "No worker has claimed from the queue in the last minute, and none waits for its jobs.",
        ),
        "outside_memory" => (
            "outside memory".to_owned(),
            "It is read from the tables in turn; turnstile.max_memory is used up.",
        ),
        "blocked" => ("blocked".to_owned(), "It waits for other jobs."),
        "locked" => (
            "locked".to_owned(),
            "An open transaction has claimed, changed or locked it.",
        ),
        "scheduled" => ("scheduled".to_owned(), "Its time has not come."),
        "retry" => ("retry".to_owned(), "Its next attempt is not due."),
        other => (other.replace('_', " "), ""),
    }
}

/// Above what else the page of a queue says, where nothing works on it.
pub fn warning(reasons: Option<&[Reason]>) -> Markup {
    let mut reasons = reasons.unwrap_or_default().iter();
    if !reasons.any(|reason| reason.reason == "no_worker") {
        return html! {};
    }
    note::note(
        Tone::Bad,
        "No worker",
        "None has claimed from this queue in the last minute, and none waits for its jobs.",
        Some("Start workers for the queue, or look whether they fail before they claim."),
    )
}
