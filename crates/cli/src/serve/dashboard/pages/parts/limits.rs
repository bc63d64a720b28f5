//! Forms of limits. A field that is left empty takes the limit away.

use maud::{Markup, html};

use super::gate::Gate;
use crate::serve::dashboard::html::tone::Tone;
use crate::serve::dashboard::html::{form, note, time};
use crate::serve::dashboard::view::View;

/// What most people choose, as the server reads it, in seconds and in words.
const USUAL: [(&str, f64, &str); 4] = [
    ("1 second", 1.0, "second"),
    ("1 minute", 60.0, "minute"),
    ("1 hour", 3_600.0, "hour"),
    ("1 day", 86_400.0, "day"),
];

/// The name of the row of defaults.
pub const DEFAULTS: &str = "*";

const NONE: &str = "no limit";

/// "minute", or the span if it has no name.
pub fn per(seconds: f64) -> String {
    USUAL
        .iter()
        .find(|(_, usual, _)| *usual == seconds)
        .map_or_else(
            || time::span_text(seconds),
            |(_, _, words)| (*words).to_owned(),
        )
}

pub fn slots(name: &str, gate: &Gate) -> Markup {
    html! { (form::was(name, gate.slots)) (form::number(name, "Run at once", gate.slots, NONE)) }
}

pub fn max_waiting(gate: &Gate) -> Markup {
    html! {
        (form::was("max_waiting", gate.max_waiting))
        (form::number("max_waiting", "Wait at most", gate.max_waiting, NONE))
    }
}

/// How many may start within an interval.
pub fn rate(gate: &Gate) -> Markup {
    let (seconds, written) = if gate.rate_seconds > 0.0 {
        (gate.rate_seconds, gate.rate_per.as_str())
    } else {
        (1.0, "")
    };
    let words = per(seconds);
    let mut options: Vec<(&str, &str)> = USUAL
        .iter()
        .map(|(value, _, words)| (*value, *words))
        .collect();
    let usual = USUAL.iter().find(|(_, usual, _)| *usual == seconds);
    let chosen = match usual {
        Some((value, _, _)) => value,
        None => {
            options.push((written, &words));
            written
        }
    };
    html! {
        (form::was("rate", gate.rate))
        (form::number("rate", "Start at most", gate.rate, NONE))
        (form::was("rate_per", Some(chosen)))
        (form::select("rate_per", "per", &options, chosen))
        (form::was("burst", gate.burst))
        (form::number("burst", "Burst", gate.burst, "1"))
    }
}

/// Whose the settings in force are, where that is known. `path`: the page that shows the defaults by the name *.
pub fn origin(view: &View, path: &str, is_own: Option<bool>) -> Markup {
    let defaults = view.link(path).with("name", DEFAULTS).text();
    html! {
        span.faint {
            @match is_own {
                Some(true) => { "its own, in place of the " a href=(defaults) { "defaults" } }
                Some(false) => { "the " a href=(defaults) { "defaults" } ": with its first change it gets a copy of its own" }
                None => {},
            }
        }
    }
}

/// Where lists are. `table`: of the settings.
pub fn defaults_link(view: &View, path: &str, table: &str) -> Markup {
    let link = view.link(path).with("name", DEFAULTS).text();
    html! {
        @if view.can.reads(table) { (form::link_button(&link, "Defaults", Tone::Plain)) }
    }
}

/// On the page of the defaults.
pub fn about_defaults(things: &str, thing: &str) -> Markup {
    let text = format!(
        "They hold for {things} without settings of their own. With the first change a {thing} gets a copy of its own."
    );
    note::note(
        Tone::Info,
        &format!("Defaults, by the name *, for all {things}"),
        &text,
        None,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unusual_interval_is_an_option_too() {
        let gate = Gate {
            rate: Some(3),
            rate_per: "00:00:07".to_owned(),
            rate_seconds: 7.0,
            ..Gate::default()
        };
        let html = rate(&gate).into_string();
        assert!(
            html.contains(r#"<option value="00:00:07" selected>7"#),
            "{html}"
        );
        assert!(
            html.contains(r#"<option value="1 minute">minute"#),
            "{html}"
        );
    }

    #[test]
    fn a_usual_interval_is_chosen_however_it_is_written() {
        let gate = Gate {
            rate_per: "00:01:00".to_owned(),
            rate_seconds: 60.0,
            ..Gate::default()
        };
        let html = rate(&gate).into_string();
        assert!(
            html.contains(r#"<option value="1 minute" selected>minute"#),
            "{html}"
        );
        assert!(!html.contains("00:01:00"), "{html}");
        assert_eq!(per(86_400.0), "day");
    }
}
