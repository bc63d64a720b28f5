//! What goes on with a batch, readable before anything else: its state, how far it is, and when it ends.

use maud::{Markup, html};

use crate::serve::dashboard::data::batches::{Batch, Counts, Settings};
use crate::serve::dashboard::data::job::InState;
use crate::serve::dashboard::html::icon::{Icon, icon};
use crate::serve::dashboard::html::number::grouped;
use crate::serve::dashboard::html::stat::{Tile, tiles};
use crate::serve::dashboard::html::tone::Tone;
use crate::serve::dashboard::html::{badge, bar, form, layout, note, parts, table, time};
use crate::serve::dashboard::pages::batches::{Standing, standing};
use crate::serve::dashboard::pages::job::levers::cancel_all;
use crate::serve::dashboard::pages::job::relatives;
use crate::serve::dashboard::pages::parts::levers::action;
use crate::serve::dashboard::pages::parts::links;
use crate::serve::dashboard::view::View;

pub fn heading(view: &View, batch: &Batch, by_state: &[InState]) -> Markup {
    let id = batch.id.to_string();
    let fields = [("id", id.as_str())];
    let beside = match standing(batch) {
        Standing::Paused => html! {
            (large(Icon::Pause, Tone::Warn, "paused"))
            @if batch.paused_until.is_some() { span.faint { "ends " (time::ago(batch.paused_until, view.now())) } }
        },
        Standing::Queued => large(Icon::Hourglass, Tone::Plain, "waits for its turn"),
        Standing::GoesOn => large(Icon::Play, Tone::Info, "goes on"),
        Standing::Job => badge::state_large(&batch.state),
    };
    let actions = html! {
        @if batch.is_live {
            (relatives::failed_children(view, batch.id, by_state))
            @if view.may("set_batch") {
                @if batch.is_paused {
                    (form::button(&action(view, "/batch", "resume"), "Resume", &fields, Tone::Info))
                } @else {
                    (form::button(&action(view, "/batch", "pause"), "Pause", &fields, Tone::Plain))
                }
            }
            (cancel_all(view, batch.id, batch.waiting + batch.running))
        }
    };
    html! {
        (layout::heading(html! { (parts::name(&batch.kind)) " " span.faint { (batch.id) } }, beside, actions))
        p { (words(batch)) }
    }
}

fn large(shape: Icon, tone: Tone, word: &str) -> Markup {
    html! { span class={ "badge large " (tone.class()) } { (icon(shape)) (word) } }
}

fn words(batch: &Batch) -> &'static str {
    match (standing(batch), batch.state.as_str()) {
        (Standing::Paused, _) => "No child starts. Those that run go on.",
        (Standing::Queued, _) => "Its children start when its turn has come.",
        (Standing::GoesOn, _) => "Its children are worked on. The job itself waits for them.",
        (_, "available" | "scheduled" | "retryable") => {
            "Its children have ended. The job itself waits to run."
        }
        (_, "running") => "The job itself runs.",
        (_, "completed") => "It has completed.",
        (_, "cancelled") => "It was cancelled.",
        (_, "discarded") => "It failed for good.",
        _ => "",
    }
}

pub fn progress(
    view: &View,
    batch: &Batch,
    counts: Option<&Counts>,
    settings: Option<&Settings>,
) -> Markup {
    html! {
        @match settings.and_then(|settings| settings.stops.as_deref()) {
            Some("failed") => (note::note(Tone::Bad, "Too many children have failed.", "No other starts, and those that wait are cancelled.", None)),
            Some(_) => (note::note(Tone::Warn, "It is ended: no other child starts, and those that wait are cancelled.", "", None)),
            None => {},
        }
        @match counts {
            Some(counts) => (bar::progress(counts.completed, counts.discarded, counts.cancelled, counts.total)),
            None => p.faint { "How many children have ended is not known at this moment: there are too many to count in time." },
        }
        @if batch.is_live { (tiles(&figures(view, batch, counts, settings))) }
    }
}

fn figures(
    view: &View,
    batch: &Batch,
    counts: Option<&Counts>,
    settings: Option<&Settings>,
) -> Vec<Tile<'static>> {
    let slots = batch
        .slots
        .map(|slots| format!("of {} at once", grouped(slots)));
    let parent = batch.id.to_string();
    let list = |state: &str| {
        let link = view
            .link("/jobs")
            .with("parent", &parent)
            .with("state", state);
        view.can.jobs().then(|| link.text())
    };
    let mut figures = vec![
        Tile {
            label: "Running",
            value: grouped(batch.running),
            note: Some(slots.unwrap_or_else(|| "no limit of its own".to_owned())),
            href: list("running"),
            ..Tile::default()
        },
        Tile {
            label: "Waiting",
            value: grouped(batch.waiting),
            ..Tile::default()
        },
        Tile {
            label: "Ended",
            value: grouped(batch.finished_per_minute),
            unit: "/min",
            ..Tile::default()
        },
        Tile {
            label: "Likely end",
            value: batch.estimated_end.map_or_else(
                || "–".to_owned(),
                |end| {
                    format!(
                        "in {}",
                        time::span_text((end - view.now()).max(0.0).round())
                    )
                },
            ),
            note: Some(match batch.estimated_end {
                Some(_) => "at the pace of the last minute".to_owned(),
                None => "no child has ended in the last minute".to_owned(),
            }),
            ..Tile::default()
        },
    ];
    if let Some(counts) = counts {
        let most = settings.and_then(|settings| settings.max_failed);
        figures.push(Tile {
            label: "Failed",
            value: grouped(counts.discarded),
            note: most.map(|most| format!("stops after {}", grouped(most))),
            tone: if counts.discarded > 0 {
                Tone::Bad
            } else {
                Tone::Plain
            },
            href: list("discarded"),
            ..Tile::default()
        });
    }
    figures
}

pub fn facts(view: &View, batch: &Batch, settings: Option<&Settings>) -> Markup {
    let mut pairs = vec![
        ("Job", links::job(view, batch.id)),
        ("Queue", links::queue(view, &batch.queue)),
        (
            "Tenant",
            links::tenant_or_none(view, batch.tenant.as_deref()),
        ),
        ("Children started", time::ago(batch.started_at, view.now())),
    ];
    if let Some(session) = &batch.session {
        pairs.push(("Session", parts::name(session)));
    }
    if let Some(settings) = settings {
        pairs.push(("When they have ended", html! { (end(&settings.on_end)) }));
    }
    if let Some(rate) = settings.and_then(rate) {
        pairs.push(("Rate", html! { (rate) }));
    }
    table::pairs(&pairs)
}

fn end(on_end: &str) -> &str {
    match on_end {
        "run" => "the job runs",
        "run_if_all_completed" => "the job runs if all completed, else it is discarded",
        "complete" => "the job completes without a run",
        other => other,
    }
}

fn rate(settings: &Settings) -> Option<String> {
    let gate = crate::serve::dashboard::pages::parts::gate::Gate {
        rate: settings.rate,
        rate_seconds: settings.rate_seconds,
        burst: settings.burst,
        ..Default::default()
    };
    gate.rate_words()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unlimited_batches_have_no_rate() {
        let settings = Settings {
            slots: None,
            rate: None,
            rate_seconds: 1.0,
            burst: None,
            priority: None,
            max_failed: None,
            on_end: "run".to_owned(),
            stops: None,
        };
        assert_eq!(rate(&settings), None);
        let limited = Settings {
            rate: Some(5),
            rate_seconds: 60.0,
            ..settings
        };
        assert_eq!(rate(&limited).unwrap(), "5 per minute");
    }
}
