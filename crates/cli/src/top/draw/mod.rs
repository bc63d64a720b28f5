//! The picture of a state.

mod bottom;
mod help;
mod style;
mod table;
mod top;

use std::time::Instant;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};

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
