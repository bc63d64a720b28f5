//! The picture of a state.

mod bottom;
mod help;
mod table;
mod top;

use std::time::Instant;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Modifier, Style};

use super::sheet::Tone;
use super::state::{Mode, State};

pub fn screen(frame: &mut Frame, state: &mut State, place: &str, now: Instant) {
    let lines = [
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Min(1),
        Constraint::Length(1),
    ];
    let [header, totals, tabs, body, footer] = Layout::vertical(lines).areas(frame.area());
    frame.render_widget(top::header(state, place, header.width, now), header);
    frame.render_widget(top::totals(state), totals);
    frame.render_widget(top::tabs(state), tabs);
    table::draw(frame, state, body);
    frame.render_widget(bottom::footer(state, now), footer);
    if matches!(state.mode, Mode::Help) {
        help::draw(frame);
    }
}

// ---- Styles ---------------------------------------------------------------------------------------

/// Without colors where the user wants none (NO_COLOR).
fn color(color: Color) -> Style {
    if std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) {
        Style::new()
    } else {
        Style::new().fg(color)
    }
}

fn faint() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

fn strong() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

fn bad() -> Style {
    color(Color::Red).add_modifier(Modifier::BOLD)
}

fn tone(tone: Tone) -> Style {
    match tone {
        Tone::Plain => Style::new(),
        Tone::Faint => faint(),
        Tone::Notable => color(Color::Yellow),
        Tone::Bad => bad(),
    }
}
