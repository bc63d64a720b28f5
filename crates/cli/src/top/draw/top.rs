//! The lines above the table: where, how well connected, how much altogether.

use std::time::{Duration, Instant};

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use super::style::{bad, color, faint, strong};
use crate::top::figures::{Subject, Totals};
use crate::top::format;
use crate::top::state::{Link, State};

/// An answer that takes no longer is nothing to speak of.
const PATIENCE: Duration = Duration::from_secs(2);

pub fn header(state: &State, place: &str, width: u16, now: Instant) -> Line<'static> {
    let (link, style) = link(state, now);
    let mut left = "turnstile top".to_owned();
    if let Some(reading) = &state.reading {
        left.push_str(&format!(
            "  {} at {}",
            reading.summary.database, reading.summary.clock
        ));
        if reading.summary.in_recovery {
            left.push_str("  standby");
        }
    }
    let pace = format!("every {}", format::seconds(state.every.as_secs_f64()));
    let room = usize::from(width).saturating_sub(left.chars().count() + link.chars().count() + 4);
    let right = [format!("{place}  {pace}"), pace]
        .into_iter()
        .find(|text| text.chars().count() <= room)
        .unwrap_or_default();
    Line::from(vec![
        Span::styled(left, strong()),
        "  ".into(),
        Span::styled(link, style),
        "  ".into(),
        Span::styled(right, faint()),
    ])
}

fn link(state: &State, now: Instant) -> (String, Style) {
    let silent = state
        .asked_at
        .map(|asked| now.saturating_duration_since(asked))
        .filter(|silent| *silent > PATIENCE);
    match (&state.link, silent) {
        (
            Link::Lost {
                since, again_at, ..
            },
            _,
        ) => {
            let lost = format::seconds(now.saturating_duration_since(*since).as_secs_f64());
            let next = again_at.saturating_duration_since(now).as_secs();
            let next = if state.asked_at.is_some() {
                "trying again".to_owned()
            } else {
                format!("again in {next}s")
            };
            (format!("NO SERVER for {lost}, {next}"), bad())
        }
        (_, Some(silent)) => (
            format!("no answer for {}", format::seconds(silent.as_secs_f64())),
            bad(),
        ),
        (Link::New, None) => ("connecting".to_owned(), faint()),
        (Link::Up, None) => ("connected".to_owned(), color(Color::Green)),
    }
}

pub fn totals(state: &State) -> Line<'static> {
    let Some(reading) = &state.reading else {
        return Line::default();
    };
    let Totals {
        running,
        waiting,
        scheduled,
        retryable,
        blocked,
        claimed_per_minute,
        finished_per_minute,
        ..
    } = reading.summary.totals;
    let mut spans = Vec::new();
    for (value, word) in [
        (running, "running"),
        (waiting, "waiting"),
        (scheduled, "scheduled"),
        (retryable, "retryable"),
        (blocked, "blocked"),
    ] {
        spans.push(Span::styled(format::count(value), strong()));
        spans.push(format!(" {word} ").into());
    }
    let pace = format!(
        "{}/min start {}/min end",
        format::count(claimed_per_minute),
        format::count(finished_per_minute)
    );
    spans.push(pace.into());
    if let Some(memory) = reading
        .summary
        .memory
        .as_ref()
        .filter(|memory| memory.lanes_outside > 0)
    {
        spans.push(Span::styled(
            format!(
                "  {} lanes outside memory",
                format::count(memory.lanes_outside)
            ),
            bad(),
        ));
    }
    Line::from(spans)
}

pub fn tabs(state: &State) -> Line<'static> {
    let mut spans = Vec::new();
    for (at, subject) in Subject::ALL.into_iter().enumerate() {
        let style = if subject == state.subject {
            strong().add_modifier(Modifier::REVERSED)
        } else {
            Style::new()
        };
        spans.push(Span::styled(
            format!(" {} {} ", at + 1, subject.title()),
            style,
        ));
        spans.push(" ".into());
    }
    if matches!(state.subject, Subject::Queues | Subject::Tenants) {
        let span = if state.is_since_reset {
            "times: since statistics began"
        } else {
            "times: last minute"
        };
        spans.push(Span::styled(format!(" {span}"), faint()));
    }
    if !state.filter.is_empty() {
        spans.push(Span::styled(
            format!("  filter: {}", state.filter),
            color(Color::Yellow),
        ));
    }
    Line::from(spans)
}
