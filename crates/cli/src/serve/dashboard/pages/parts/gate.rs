//! Figures and limits of a queue, a tenant, an account or a concurrency key, and how they are shown.

use maud::{Markup, html};
use serde::{Deserialize, Deserializer};

use super::interval::per;
use crate::serve::dashboard::html::icon::Icon;
use crate::serve::dashboard::html::number::{self, grouped};
use crate::serve::dashboard::html::tone::Tone;
use crate::serve::dashboard::html::{badge, time};
use crate::serve::dashboard::view::View;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Gate {
    pub name: String,
    pub slots: Option<i64>,
    pub max_waiting: Option<i64>,
    pub weight: i64,
    pub is_paused: bool,
    /// Seconds since 1970, if the pause ends by itself.
    pub paused_until: Option<f64>,
    pub one_at_a_time: bool,
    pub rate: Option<i64>,
    /// The interval of the rate, as the server writes it.
    #[serde(deserialize_with = "or_nothing")]
    pub rate_per: String,
    #[serde(deserialize_with = "or_nothing")]
    pub rate_seconds: f64,
    pub burst: Option<i64>,
    pub running: i64,
    pub free: Option<i64>,
    pub waiting: i64,
    pub scheduled: i64,
    pub retryable: i64,
    pub blocked: i64,
    pub oldest_seconds: Option<f64>,
    pub claimed_per_minute: i64,
    pub finished_per_minute: i64,
    /// Since statistics began.
    pub failed: Option<i64>,
    pub discarded: Option<i64>,
    pub wait_p95_ms: Option<f64>,
    /// What there is in all queues.
    pub all_running: i64,
    pub all_waiting: i64,
    /// How many rows there are of which this is one, and how many of them have work.
    pub matching: i64,
    pub active: i64,
}

impl Gate {
    pub fn rate_words(&self) -> Option<String> {
        Some(rate_words(self.rate?, self.rate_seconds, self.burst))
    }

    pub fn is_full(&self) -> bool {
        self.slots.is_some_and(|slots| self.running >= slots)
    }

    /// Jobs wait and could start, but none has for a minute.
    pub fn stands_still(&self) -> bool {
        self.waiting > 0 && self.claimed_per_minute == 0 && !self.is_paused && !self.is_full()
    }

    fn state(&self, now: f64, is_standby: bool) -> Option<Markup> {
        if self.is_paused {
            Some(badge::paused(self.paused_until, now))
        } else if self.slots == Some(0) {
            Some(badge::shaped(Icon::Barred, Tone::Warn, "closed: no slots"))
        } else if self.one_at_a_time {
            Some(badge::shaped(
                Icon::Hourglass,
                Tone::Warn,
                "on trial: one at a time",
            ))
        } else if !is_standby
            && self.stands_still()
            && self.oldest_seconds.is_some_and(|oldest| oldest >= 60.0)
        {
            Some(badge::tone(Tone::Warn, "nothing starts"))
        } else {
            None
        }
    }

    /// The name in a table, with its state where something keeps it from what it should do.
    pub fn named(&self, view: &View, name: Markup) -> Markup {
        let state = self.state(view.now(), view.can.in_recovery);
        html! { (name) @if let Some(state) = state { " " (state) } }
    }

    /// Beside the title of its page.
    pub fn state_beside(&self, view: &View) -> Markup {
        let state = self.state(view.now(), view.can.in_recovery);
        state.unwrap_or_else(|| {
            if self.is_full() {
                badge::tone(Tone::Warn, "full")
            } else {
                badge::tone(Tone::Good, "open")
            }
        })
    }

    pub fn oldest(&self) -> Markup {
        number::or_none(self.oldest_seconds, time::span)
    }
}

/// What a limit is, or that there is none.
pub fn limit(value: Option<i64>) -> Markup {
    match value {
        Some(value) => number::count(value),
        None => html! { span.none { "no limit" } },
    }
}

/// NULL, where neither a row nor a default is there.
fn or_nothing<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    value: D,
) -> Result<T, D::Error> {
    Option::deserialize(value).map(Option::unwrap_or_default)
}

/// 600 per minute, burst 20
pub fn rate_words(rate: i64, seconds: f64, burst: Option<i64>) -> String {
    let rate = format!("{} per {}", grouped(rate), per(seconds));
    match burst {
        Some(burst) => format!("{rate}, burst {}", grouped(burst)),
        None => rate,
    }
}

pub fn rate(gate: &Gate) -> Markup {
    match gate.rate_words() {
        Some(words) => html! { (words) },
        None => limit(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_in_words() {
        assert_eq!(rate_words(600, 60.0, Some(20)), "600 per minute, burst 20");
        assert_eq!(rate_words(1, 90.0, None), "1 per 1\u{a0}min 30\u{a0}s");
    }

    #[test]
    fn a_gate_without_any_row_has_no_interval() {
        let gate: Gate = serde_json::from_str(
            r#"{"name": "a", "rate": null, "rate_per": null, "rate_seconds": null}"#,
        )
        .unwrap();
        assert_eq!((gate.rate_words(), gate.rate_seconds), (None, 0.0));
    }

    #[test]
    fn what_closes_a_gate_comes_first() {
        let shown = |gate: &Gate| {
            let state = gate.state(0.0, false);
            state.map_or("open".to_owned(), Markup::into_string)
        };
        let full = Gate {
            slots: Some(2),
            running: 2,
            waiting: 9,
            oldest_seconds: Some(90.0),
            ..Gate::default()
        };
        assert!(full.is_full() && !full.stands_still());
        assert_eq!(shown(&full), "open");
        let idle = Gate {
            running: 1,
            ..full.clone()
        };
        assert!(shown(&idle).contains("nothing starts"));
        assert!(idle.state(0.0, true).is_none());
        let paused = Gate {
            is_paused: true,
            ..idle
        };
        assert!(shown(&paused).contains("paused"));
        let closed = Gate {
            slots: Some(0),
            ..full
        };
        assert!(shown(&closed).contains("closed"));
    }
}
