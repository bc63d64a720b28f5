//! The last line: what was asked, what came of it, or which keys there are.

use std::time::Instant;

use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};

use super::{bad, color, faint, strong};
use crate::top::state::{Mode, State};

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
    match (&state.mode, state.message(now)) {
        (Mode::Filter, _) => Line::from(vec![
            Span::styled("filter: ", strong()),
            format!("{}▏", state.filter).into(),
            Span::styled("  Enter keeps it, Esc drops it", faint()),
        ]),
        (Mode::Confirm(order), _) => Line::from(vec![
            Span::styled(order.question(), color(Color::Yellow)),
            Span::styled("  y/n", strong()),
        ]),
        (_, Some(message)) => {
            let style = if message.is_bad { bad() } else { Style::new() };
            Line::from(Span::styled(message.text.replace('\n', "  "), style))
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
