//! How far a change of all jobs that match has come, or without a number the changes that the viewer has begun.

use std::time::SystemTime;

use maud::{Markup, html};
use serde::Deserialize;

use super::jobs::deed::Words;
use super::jobs::words::sentence;
use super::problem;
use crate::listener::Problem;
use crate::serve::dashboard::changes::{Change, End, Progress};
use crate::serve::dashboard::content::Content;
use crate::serve::dashboard::data::count::MOST_COUNTED;
use crate::serve::dashboard::html::icon::{Icon, icon};
use crate::serve::dashboard::html::stat::{Tile, tiles};
use crate::serve::dashboard::html::table::{Head, table};
use crate::serve::dashboard::html::tone::Tone;
use crate::serve::dashboard::html::{badge, bar, form, layout, number, time};
use crate::serve::dashboard::levers::many::no_such_change;
use crate::serve::dashboard::view::View;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Query {
    number: Option<u64>,
}

pub async fn draw(view: View) -> Result<Content, Problem> {
    let Query { number } = view.query()?;
    let changes = &view.shared.changes;
    let Some(number) = number else {
        let drawn = list(&view, &changes.of(&view.access));
        return Ok(Content::new("Changes of many jobs").live("changes", drawn));
    };
    let change = changes
        .find(&view.access, number)
        .ok_or_else(no_such_change)?;
    let words = Words::of(change.deed);
    let verb = words.map_or("Change", |words| words.verb);
    let trail = layout::trail(&[
        (&view.link("/jobs").text(), "Jobs"),
        (&view.link("/change").text(), "Changes of many jobs"),
    ]);
    Ok(Content::new(format!("{verb} jobs"))
        .still("trail", trail)
        .live("change", one(&view, number, &change, verb)))
}

fn one(view: &View, number: u64, change: &Change, verb: &str) -> Markup {
    let progress = change.progress();
    let text = number.to_string();
    let is_over = progress.end.is_some();
    let stop = html! {
        @if !is_over { (form::button(&view.link("/change/stop").text(), "Stop", &[("number", &text)], Tone::Bad)) }
    };
    let jobs = change.filter.add_to(view.link("/jobs")).text();
    html! {
        (layout::heading(html! { (verb) " jobs" }, state(&progress, true), stop))
        p { (verb) " all " (what(change)) "." }
        (tiles(&figures(change, &progress)))
        p { "Begun " (time::full(began(change), view.now())) "." }
        @match &progress.end {
            None => p.faint {
                "The browser may close: this goes on. It ends with this program, and what was changed until then remains so."
            },
            Some(End::Failed(failure)) => {
                (problem::told(failure))
                p.faint { "What was changed remains so." }
            },
            Some(_) => {},
        }
        p { a href=(jobs) { "The list of jobs with this filter" } }
    }
}

fn what(change: &Change) -> Markup {
    let states = Words::of(change.deed).map(|words| words.states(&change.filter.state));
    sentence(&change.filter, &states.unwrap_or_default())
}

fn state(progress: &Progress, is_large: bool) -> Markup {
    let (shape, tone, word) = match progress.end {
        None => (Icon::Play, Tone::Info, "goes on"),
        Some(End::Done) => (Icon::Check, Tone::Good, "done"),
        Some(End::Stopped) => (Icon::Pause, Tone::Warn, "stopped"),
        Some(End::Failed(_)) => (Icon::Cross, Tone::Bad, "failed"),
    };
    if is_large {
        html! { span class={ "badge large " (tone.class()) } { (icon(shape)) (word) } }
    } else {
        badge::shaped(shape, tone, word)
    }
}

fn figures(change: &Change, progress: &Progress) -> Vec<Tile<'static>> {
    let mut figures = vec![Tile {
        label: Words::of(change.deed).map_or("Changed", |words| words.heading),
        value: number::grouped(progress.jobs),
        unit: "jobs",
        note: change.expected.map(|expected| of(progress.jobs, expected)),
        ..Tile::default()
    }];
    if progress.end.is_some() {
        return figures;
    }
    let pace = pace(progress.jobs, elapsed(change));
    figures.push(Tile {
        label: "Pace",
        value: pace.map_or_else(|| "–".to_owned(), number::short),
        unit: "jobs/s",
        ..Tile::default()
    });
    if let Some(left) = left(change.expected, progress.jobs, pace) {
        figures.push(Tile {
            label: "Time left",
            value: time::span_text(left.ceil()),
            note: Some("at this pace".to_owned()),
            ..Tile::default()
        });
    }
    figures
}

/// How many there were when they were counted. Others may match since, and some no longer.
fn of(jobs: i64, expected: i64) -> String {
    if expected >= MOST_COUNTED {
        return format!("of {} or more", number::grouped(MOST_COUNTED));
    }
    let part = (jobs as f64 / expected.max(1) as f64).min(1.0);
    format!(
        "{:.0}% of {} that were counted",
        (part * 100.0).floor(),
        number::grouped(expected)
    )
}

fn elapsed(change: &Change) -> f64 {
    let elapsed = SystemTime::now().duration_since(change.began);
    elapsed.unwrap_or_default().as_secs_f64()
}

/// Seconds since 1970.
fn began(change: &Change) -> Option<f64> {
    let since = change.began.duration_since(SystemTime::UNIX_EPOCH);
    since.ok().map(|since| since.as_secs_f64())
}

/// Jobs a second. In the first moment it says nothing.
fn pace(jobs: i64, elapsed: f64) -> Option<f64> {
    (elapsed >= 0.5 && jobs > 0).then(|| jobs as f64 / elapsed)
}

/// Seconds, if it is known how many there are: the preview counts no further than `MOST_COUNTED`.
fn left(expected: Option<i64>, jobs: i64, pace: Option<f64>) -> Option<f64> {
    let expected = expected.filter(|expected| *expected < MOST_COUNTED)?;
    Some((expected - jobs).max(0) as f64 / pace?)
}

fn list(view: &View, changes: &[(u64, std::sync::Arc<Change>)]) -> Markup {
    let heads = [
        Head::text("Change"),
        Head::text("State"),
        Head::text("Jobs"),
        Head::number("Changed"),
        Head::number("Counted").titled("How many there were before"),
        Head::number("Done"),
        Head::text("Began"),
    ];
    let rows = changes
        .iter()
        .map(|(number, change)| {
            let progress = change.progress();
            let verb = Words::of(change.deed).map_or("Change", |words| words.verb);
            let href = view
                .link("/change")
                .with("number", number.to_string())
                .text();
            vec![
                html! { a href=(href) { (verb) " " (number) } },
                state(&progress, false),
                what(change),
                number::count(progress.jobs),
                number::or_none(change.expected, |of| {
                    number::at_least(of, of >= MOST_COUNTED)
                }),
                number::or_none(change.expected, |of| done(progress.jobs, of)),
                time::ago(began(change), view.now()),
            ]
        })
        .collect();
    html! {
        (layout::heading(html! { "Changes of many jobs" }, html! {}, html! {}))
        (table(
            &heads,
            rows,
            "Yours, since this program was started. The newest first.",
            "You have begun no change of many jobs since this program was started. They begin in the list of jobs.",
        ))
    }
}

fn done(jobs: i64, of: i64) -> Markup {
    if of >= MOST_COUNTED {
        return number::none();
    }
    bar::share(jobs.min(of), of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_is_told_where_it_is_known() {
        assert_eq!(pace(100, 0.1), None);
        assert_eq!(pace(100, 10.0), Some(10.0));
        assert_eq!(left(Some(200), 100, Some(10.0)), Some(10.0));
        assert_eq!(left(Some(50), 100, Some(10.0)), Some(0.0));
        assert_eq!(left(Some(MOST_COUNTED), 100, Some(10.0)), None);
        assert_eq!(left(None, 100, Some(10.0)), None);
        assert_eq!(left(Some(200), 0, None), None);
        assert_eq!(of(199, 200), "99% of 200 that were counted");
        assert_eq!(of(0, 0), "0% of 0 that were counted");
        assert_eq!(of(5, MOST_COUNTED), "of 10\u{202f}000 or more");
    }
}
