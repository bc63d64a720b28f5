//! The last line: what was asked, what came of it, or which keys there are.

use std::time::Instant;

use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};

use super::style::{bad, color, faint, strong};
use crate::top::state::{Link, Mode, State};

const KEYS: [(&str, &str); 8] = [
    ("?", "help"),
    ("Tab", "next"),
    ("/", "filter"),
    ("s", "sort"),
    ("i", "invert"),
    ("p", "pause"),
    ("r", "resume"),
    ("q", "quit"),
];

pub fn footer(state: &State, now: Instant) -> Line<'static> {
    match (&state.mode, state.message(now), &state.link) {
        (Mode::Filter, ..) => Line::from(vec![
            Span::styled("filter: ", strong()),
            format!("{}▏", state.filter).into(),
            Span::styled("  Enter keeps it, Esc drops it", faint()),
        ]),
        (Mode::Confirm(order), ..) => Line::from(vec![
            Span::styled(order.question(), color(Color::Yellow)),
            Span::styled("  y/n", strong()),
        ]),
        (_, Some(message), _) => {
            let style = if message.is_bad { bad() } else { Style::new() };
            Line::from(Span::styled(message.text.replace('\n', "  "), style))
        }
        (.., Link::Lost { error, .. }) => {
            Line::from(Span::styled(error.replace('\n', "  "), bad()))
        }
        _ => Line::from(
            KEYS.into_iter()
                .flat_map(|(key, meaning)| {
                    [Span::styled(key, strong()), format!(" {meaning}  ").into()]
                })
                .collect::<Vec<_>>(),
        ),
    }
}
