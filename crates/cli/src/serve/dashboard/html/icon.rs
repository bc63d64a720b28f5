//! Icons that differ by their shape. They are not read out: a word stands beside each.

use maud::{Markup, html};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Icon {
    Dot,
    Ring,
    Clock,
    Play,
    Again,
    Hourglass,
    Check,
    Barred,
    Cross,
    Pause,
    Alert,
    Info,
    Lock,
    Up,
    Down,
    Turnstile,
}

impl Icon {
    /// Drawn on a square of 16, and whether the shape is filled.
    fn shape(self) -> (&'static str, bool) {
        match self {
            Self::Dot => ("M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6z", true),
            Self::Ring => (
                "M8 2.75a5.25 5.25 0 1 0 0 10.5 5.25 5.25 0 0 0 0-10.5z",
                false,
            ),
            Self::Clock => (
                "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 4.75V8l2.25 1.75",
                false,
            ),
            Self::Play => (
                "M4 2.25v11.5a.6.6 0 0 0 .9.5l9-5.75a.6.6 0 0 0 0-1l-9-5.75a.6.6 0 0 0-.9.5z",
                true,
            ),
            Self::Again => (
                "M12.9 10.25A5.4 5.4 0 1 1 12.6 5M13.25 1.75v3.6h-3.6",
                false,
            ),
            Self::Hourglass => (
                "M3.5 2h9M3.5 14h9M4.75 2c0 3.75 6.5 8.25 6.5 12M11.25 2c0 3.75-6.5 8.25-6.5 12",
                false,
            ),
            Self::Check => ("M2.75 8.5l3.5 3.5 7-8", false),
            Self::Barred => (
                "M8 2.25a5.75 5.75 0 1 0 0 11.5 5.75 5.75 0 0 0 0-11.5zM4.2 11.8l7.6-7.6",
                false,
            ),
            Self::Cross => (
                "M5.3 1.75h5.4l3.55 3.55v5.4l-3.55 3.55H5.3L1.75 10.7V5.3zM5.75 5.75l4.5 4.5M10.25 5.75l-4.5 4.5",
                false,
            ),
            Self::Pause => ("M3.75 2.5h3v11h-3zM9.25 2.5h3v11h-3z", true),
            Self::Alert => ("M8 2l6.5 11.75h-13zM8 6.5v3.25M8 11.6v.4", false),
            Self::Info => (
                "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 7.5v3.5M8 4.9v.3",
                false,
            ),
            Self::Lock => (
                "M3.5 7.25h9v6.5h-9zM5.25 7V5a2.75 2.75 0 0 1 5.5 0v2",
                false,
            ),
            Self::Up => ("M3 11.5l5-7.5 5 7.5z", true),
            Self::Down => ("M3 4.5l5 7.5 5-7.5z", true),
            Self::Turnstile => (
                "M8 8V1.75M8 8l5.4 3.6M8 8l-5.4 3.6M8 6.25a1.75 1.75 0 1 0 0 3.5 1.75 1.75 0 0 0 0-3.5z",
                false,
            ),
        }
    }
}

pub fn icon(icon: Icon) -> Markup {
    let (path, filled) = icon.shape();
    let class = if filled { "icon filled" } else { "icon" };
    html! {
        svg class=(class) viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" {
            path d=(path) {}
        }
    }
}
