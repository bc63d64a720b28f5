//! One value: how it is written and how it sorts.

use std::cmp::Ordering;

use crate::top::format;

/// What a value says beyond itself; the screen has a color for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Plain,
    /// Zero, or none: it need not be seen.
    Faint,
    Notable,
    Bad,
}

#[derive(Clone, Debug)]
pub enum Cell {
    Text(String, Tone),
    Number {
        text: String,
        value: Option<f64>,
        tone: Tone,
    },
    /// How many run, of how many that may.
    Running {
        running: i64,
        slots: Option<i64>,
    },
    /// How many have ended, of how many; and how many of those not well.
    Progress {
        ended: i64,
        lost: i64,
        total: i64,
    },
}

impl Cell {
    pub fn text(value: &str) -> Self {
        Cell::Text(value.to_owned(), Tone::Plain)
    }

    pub fn count(value: i64) -> Self {
        Self::number(
            format::count(value),
            Some(value as f64),
            if value == 0 { Tone::Faint } else { Tone::Plain },
        )
    }

    /// A count that should be zero.
    pub fn bad(value: i64) -> Self {
        Self::number(
            format::count(value),
            Some(value as f64),
            if value == 0 { Tone::Faint } else { Tone::Bad },
        )
    }

    pub fn seconds(value: Option<f64>) -> Self {
        Self::time(value, format::seconds)
    }

    pub fn milliseconds(value: Option<f64>) -> Self {
        Self::time(value, format::milliseconds)
    }

    fn time(value: Option<f64>, write: fn(f64) -> String) -> Self {
        match value {
            Some(time) => Self::number(write(time), value, Tone::Plain),
            None => Self::number("-".to_owned(), None, Tone::Faint),
        }
    }

    fn number(text: String, value: Option<f64>, tone: Tone) -> Self {
        Cell::Number { text, value, tone }
    }

    pub fn written(&self) -> String {
        match self {
            Cell::Text(text, _) | Cell::Number { text, .. } => text.clone(),
            Cell::Running {
                running,
                slots: Some(slots),
            } => format!("{}/{}", format::count(*running), format::count(*slots)),
            Cell::Running {
                running,
                slots: None,
            } => format::count(*running),
            Cell::Progress { ended, total, .. } => {
                format!("{}/{}", format::count(*ended), format::count(*total))
            }
        }
    }

    pub fn tone(&self) -> Tone {
        match self {
            Cell::Text(_, tone) | Cell::Number { tone, .. } => *tone,
            Cell::Running { .. } | Cell::Progress { .. } => Tone::Plain,
        }
    }

    /// The part of a bar that is filled, and the part that is filled in another color; `None` where there is no bar.
    pub fn filled(&self) -> Option<(f64, f64)> {
        match self {
            Cell::Running {
                running,
                slots: Some(slots),
            } => Some((part(*running, *slots), 0.0)),
            Cell::Progress { ended, lost, total } => {
                Some((part(ended - lost, *total), part(*lost, *total)))
            }
            _ => None,
        }
    }

    fn value(&self) -> Option<f64> {
        match self {
            Cell::Text(..) => None,
            Cell::Number { value, .. } => *value,
            Cell::Running { running, .. } => Some(*running as f64),
            Cell::Progress { ended, total, .. } => Some(part(*ended, *total)),
        }
    }

    /// `is_down`: the greatest first. What has no value is last either way.
    pub fn compare(&self, other: &Self, is_down: bool) -> Ordering {
        let directed = |ordering: Ordering| {
            if is_down {
                ordering.reverse()
            } else {
                ordering
            }
        };
        match (self, other) {
            (Cell::Text(one, _), Cell::Text(two, _)) => one
                .is_empty()
                .cmp(&two.is_empty())
                .then_with(|| directed(one.cmp(two))),
            _ => match (self.value(), other.value()) {
                (Some(one), Some(two)) => directed(one.total_cmp(&two)),
                (one, two) => two.is_some().cmp(&one.is_some()),
            },
        }
    }
}

fn part(some: i64, all: i64) -> f64 {
    if all <= 0 {
        0.0
    } else {
        (some as f64 / all as f64).clamp(0.0, 1.0)
    }
}
