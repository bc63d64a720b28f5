//! How text looks that says more than others.

use ratatui::style::{Color, Modifier, Style};

use crate::top::sheets::Tone;

/// Without colors where the user wants none (NO_COLOR).
pub fn color(color: Color) -> Style {
    if std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) {
        Style::new()
    } else {
        Style::new().fg(color)
    }
}

pub fn faint() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

pub fn strong() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

pub fn bad() -> Style {
    color(Color::Red).add_modifier(Modifier::BOLD)
}

pub fn tone(tone: Tone) -> Style {
    match tone {
        Tone::Plain => Style::new(),
        Tone::Faint => faint(),
        Tone::Notable => color(Color::Yellow),
        Tone::Bad => bad(),
    }
}
