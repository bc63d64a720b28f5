//! What needs attention first.

use maud::{Markup, html};
use serde::Deserialize;

use super::now::{self, Now};
use crate::listener::Problem;
use crate::serve::dashboard::html::note;
use crate::serve::dashboard::html::number::{bytes_text, grouped};
use crate::serve::dashboard::html::time::{self, span_text};
use crate::serve::dashboard::html::tone::Tone;
use crate::serve::dashboard::pages::health::history;
use crate::serve::dashboard::pages::parts::figures::slots_word;
use crate::serve::dashboard::pages::parts::gate::{Gate, rate_words};
use crate::serve::dashboard::pages::parts::links;
use crate::serve::dashboard::pages::parts::past::Past;
use crate::serve::dashboard::value::Value;
use crate::serve::dashboard::view::View;

const ATTENTION: &str = include_str!("../../sql/attention.sql");
const UNATTENDED: &str = include_str!("../../sql/unattended.sql");

/// Queues of which it is asked whether they have workers.
const ASKED: usize = 6;
const NAMED: usize = 3;
/// A backlog behind a full gate is worth a word when the first has waited for so many seconds.
const LONG: f64 = 60.0;
/// What is used of the memory when it is time to say so.
const MUCH: f64 = 0.9;

/// Of the gates of a kind that are closed for a reason: the one with the most jobs behind it.
#[derive(Debug, Deserialize)]
struct Closed {
    gate: String,
    reason: String,
    name: String,
    slots: Option<i64>,
    rate: Option<i64>,
    rate_seconds: Option<f64>,
    waiting: i64,
    oldest_seconds: Option<f64>,
    until: Option<f64>,
    gates: i64,
    all_waiting: i64,
}

pub struct Alerts {
    closed: Vec<Closed>,
    unattended: Vec<String>,
}

/// The worst first.
struct Line {
    tone: Tone,
    text: Markup,
}

pub async fn read(view: &View, now: &Now, queues: &[Gate]) -> Result<Alerts, Problem> {
    let closed = view.rows(ATTENTION, &[]).await?;
    let unattended = if now.workers.lately > 0 {
        unattended(view, queues).await?
    } else {
        Vec::new()
    };
    Ok(Alerts { closed, unattended })
}

/// Where nothing has started for a minute though there is room, there may be no worker.
async fn unattended(view: &View, queues: &[Gate]) -> Result<Vec<String>, Problem> {
    let names: Vec<String> = queues
        .iter()
        .filter(|queue| queue.waiting > 0 && queue.claimed_per_minute == 0)
        .take(ASKED)
        .map(|queue| queue.name.clone())
        .collect();
    if names.is_empty() || view.can.in_recovery || !view.can.calls("why_waiting_summary") {
        return Ok(Vec::new());
    }
    view.rows(UNATTENDED, &[Value::Texts(names)]).await
}

pub fn shown(view: &View, now: &Now, alerts: &Alerts, queues: &[Gate], past: &Past) -> Markup {
    let mut lines = without_workers(view, now, alerts, queues);
    lines.extend(standby(view));
    lines.extend(failing(view, now, past));
    lines.extend(memory(now));
    lines.extend(history_ends(view, now));
    lines.extend(alerts.closed.iter().filter_map(|closed| line(view, closed)));
    let Some(worst) = worst(&lines) else {
        return note::note(Tone::Good, "Nothing needs attention", "", None);
    };
    let title = match lines.len() {
        1 => "Needs attention".to_owned(),
        many => format!("{many} things to look at"),
    };
    let list = html! {
        ul { @for line in &lines { li { (line.text) } } }
    };
    note::with(worst, &title, "", None, list)
}

fn worst(lines: &[Line]) -> Option<Tone> {
    let has = |tone| lines.iter().any(|line| line.tone == tone);
    let tones = [Tone::Bad, Tone::Warn, Tone::Info];
    tones.into_iter().find(|tone| has(*tone))
}

/// No workers at all, or none for some queues.
fn without_workers(view: &View, now: &Now, alerts: &Alerts, queues: &[Gate]) -> Vec<Line> {
    let bad = |text| Line {
        tone: Tone::Bad,
        text,
    };
    let is_idle = now.workers.lately == 0 && now.totals.waiting > 0 && !view.can.in_recovery;
    let waiting = |name: &str| {
        let queue = queues.iter().find(|queue| queue.name == name);
        queue.map_or(0, |queue| queue.waiting)
    };
    if is_idle {
        let seen = match now.workers.last_seen {
            Some(at) => format!(
                "the last claim was {} ago",
                span_text((view.now() - at).max(0.0).round())
            ),
            None => "none has since the server started".to_owned(),
        };
        return vec![bad(html! {
            "No worker has claimed in the last minute: " (seen) ". " (waits(now.totals.waiting)) "."
        })];
    }
    let named = alerts.unattended.iter().take(NAMED);
    let mut lines: Vec<Line> = named
        .map(|name| bad(html! {
            "No worker claims from the queue " (links::queue(view, name)) ". " (waits(waiting(name))) "."
        }))
        .collect();
    if let Some(more) = alerts
        .unattended
        .get(NAMED..)
        .filter(|more| !more.is_empty())
    {
        lines.push(bad(html! { "Nor from " (more.len()) " others." }));
    }
    lines
}

fn standby(view: &View) -> Option<Line> {
    view.can.in_recovery.then(|| Line {
        tone: Tone::Info,
        text: html! {
            "This server is a standby: its figures are counted in the tables, which takes longer, and nothing can be changed here."
        },
    })
}

fn failing(view: &View, now: &Now, past: &Past) -> Option<Line> {
    let words = now::failing(view, now, past)?;
    let link = view.link("/failures").text();
    Some(Line {
        tone: Tone::Warn,
        text: html! {
            (words)
            @if view.can.jobs() { ": see " a href=(link) { "what they failed with" } }
            "."
        },
    })
}

fn memory(now: &Now) -> Option<Line> {
    let limit = now.memory.bytes_limit?;
    let outside = now.memory.lanes_outside.unwrap_or(0);
    let (size, unit) = bytes_text(limit);
    let text = if outside > 0 {
        html! {
            (grouped(outside)) " groups of jobs are outside memory, of which turnstile.max_memory allows " (size) " " (unit)
            ": they are found in the tables, in turn."
        }
    } else if now.memory.bytes? as f64 >= limit as f64 * MUCH {
        html! { "The scheduler's memory is almost used up: turnstile.max_memory allows " (size) " " (unit) "." }
    } else {
        return None;
    };
    Some(Line {
        tone: Tone::Warn,
        text,
    })
}

fn history_ends(view: &View, now: &Now) -> Option<Line> {
    history::is_short(now.history_until, view.now()).then(|| Line {
        tone: Tone::Warn,
        text: html! {
            "The " a href=(view.link("/health").text()) { "history" } " has no partitions for the days to come: turnstile.maintain() is to be run once a minute."
        },
    })
}

fn line(view: &View, closed: &Closed) -> Option<Line> {
    // That is how it goes where there is much to do.
    let is_busy = matches!(closed.reason.as_str(), "full" | "rate");
    if is_busy && closed.oldest_seconds.is_none_or(|oldest| oldest < LONG) {
        return None;
    }
    let (kind, path, link): (_, _, fn(&View, &str) -> Markup) = match closed.gate.as_str() {
        "queue" => ("queue", "/queues", links::queue),
        "tenant" => ("tenant", "/tenants", links::tenant),
        _ => ("key", "/keys", links::key),
    };
    let others = closed.gates - 1;
    let behind_others = closed.all_waiting - closed.waiting;
    let text = html! {
        "The " (kind) " " (link(view, &closed.name)) " " (reason(view, closed)) ": " (waits(closed.waiting))
        @if let Some(oldest) = closed.oldest_seconds { ", the first for " (span_text(oldest.round())) }
        "."
        @if others > 0 {
            " So " (if others == 1 { "is" } else { "are" }) " "
            a href=(view.link(path).text()) { (grouped(others)) " other " (kind) @if others > 1 { "s" } }
            ", with " (grouped(behind_others)) "."
        }
    };
    Some(Line {
        tone: if is_busy { Tone::Info } else { Tone::Warn },
        text,
    })
}

fn reason(view: &View, closed: &Closed) -> Markup {
    match closed.reason.as_str() {
        "paused" => html! {
            "is paused"
            @if closed.until.is_some() { " (ends " (time::ago(closed.until, view.now())) ")" }
        },
        "no_slots" => html! { "has no slots" },
        "rate" => html! {
            "is at its rate"
            @if let Some(rate) = closed.rate { ", " (rate_words(rate, closed.rate_seconds.unwrap_or(1.0), None)) }
        },
        _ => html! {
            "is full"
            @if let Some(slots) = closed.slots { ", with " (grouped(slots)) " " (slots_word(slots)) }
        },
    }
}

fn waits(count: i64) -> String {
    match count {
        1 => "1 job waits".to_owned(),
        _ => format!("{} jobs wait", grouped(count)),
    }
}
