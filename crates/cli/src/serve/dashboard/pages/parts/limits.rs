//! Forms of limits. A field has what is set for the name itself; one that is empty inherits, or has no limit where nothing can be inherited.

use maud::{Markup, html};
use serde::Deserialize;

use super::gate::Gate;
use super::interval::{USUAL, per};
use crate::serve::dashboard::fields::NO_LIMIT;
use crate::serve::dashboard::html::number::grouped;
use crate::serve::dashboard::html::tone::Tone;
use crate::serve::dashboard::html::{form, note};
use crate::serve::dashboard::view::View;

/// The name of the row of defaults.
pub const DEFAULTS: &str = "*";

/// What a row of settings has for itself. -1: no limit.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Own {
    pub slots: Option<i64>,
    pub max_waiting: Option<i64>,
    pub weight: Option<i64>,
    pub rate: Option<i64>,
    /// As the server writes it.
    pub rate_per: Option<String>,
    pub rate_seconds: Option<f64>,
    pub burst: Option<i64>,
}

/// What a form of limits begins with.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Limits {
    pub own: Own,
    /// What holds where nothing is set. None: nothing is inherited, and what is not set is no limit.
    pub inherited: Option<Gate>,
}

impl Limits {
    /// Where the viewer may not know what is set.
    pub fn in_force(gate: &Gate) -> Self {
        let own = Own {
            slots: gate.slots,
            max_waiting: gate.max_waiting,
            weight: Some(gate.weight),
            rate: gate.rate,
            rate_per: Some(gate.rate_per.clone()),
            rate_seconds: Some(gate.rate_seconds),
            burst: gate.burst,
        };
        Self {
            own,
            inherited: None,
        }
    }

    fn number(
        &self,
        name: &str,
        label: &str,
        own: Option<i64>,
        inherited: impl Fn(&Gate) -> Option<i64>,
        none: &str,
    ) -> Markup {
        let own = own.map(|own| {
            if own < 0 {
                NO_LIMIT.to_owned()
            } else {
                own.to_string()
            }
        });
        let empty = match &self.inherited {
            Some(gate) => inherits(&inherited(gate).map_or_else(|| none.to_owned(), grouped)),
            None => none.to_owned(),
        };
        html! { (form::was(name, own.as_ref())) (form::limit(name, label, own.as_deref(), &empty)) }
    }

    pub fn slots(&self, name: &str) -> Markup {
        self.number(
            name,
            "Run at once",
            self.own.slots,
            |gate| gate.slots,
            NO_LIMIT,
        )
    }

    pub fn max_waiting(&self) -> Markup {
        self.number(
            "max_waiting",
            "Wait at most",
            self.own.max_waiting,
            |gate| gate.max_waiting,
            NO_LIMIT,
        )
    }

    pub fn weight(&self) -> Markup {
        self.number(
            "weight",
            "Weight",
            self.own.weight,
            |gate| Some(gate.weight),
            "1",
        )
    }

    /// How many may start within an interval.
    pub fn rate(&self) -> Markup {
        html! {
            (self.number("rate", "Start at most", self.own.rate, |gate| gate.rate, NO_LIMIT))
            (self.rate_per())
            (self.number("burst", "Burst", self.own.burst, |gate| gate.burst, "1"))
        }
    }

    fn rate_per(&self) -> Markup {
        let inherited = self
            .inherited
            .as_ref()
            .map(|gate| inherits(&per(gate.rate_seconds)));
        let own = self.own.rate_seconds.filter(|seconds| *seconds > 0.0);
        let words = own.map_or_else(String::new, per);
        let mut options: Vec<(&str, &str)> =
            inherited.iter().map(|words| ("", words.as_str())).collect();
        options.extend(USUAL.iter().map(|(value, _, words)| (*value, *words)));
        let usual = USUAL.iter().find(|(_, usual, _)| Some(*usual) == own);
        let chosen = match (usual, &self.own.rate_per) {
            (Some((value, ..)), _) => *value,
            (None, Some(written)) if own.is_some() => {
                options.push((written, &words));
                written
            }
            (None, _) if inherited.is_some() => "",
            (None, _) => USUAL[0].0,
        };
        html! { (form::was("rate_per", Some(chosen))) (form::select("rate_per", "per", &options, chosen)) }
    }
}

fn inherits(what: &str) -> String {
    format!("inherits ({what})")
}

/// Whose the settings in force are, where that is known. `path`: the page that shows the defaults by the name *.
pub fn origin(view: &View, path: &str, is_own: Option<bool>) -> Markup {
    let defaults = view.link(path).with("name", DEFAULTS).text();
    html! {
        span.faint {
            @match is_own {
                Some(true) => { "some its own, the rest inherited from the " a href=(defaults) { "defaults" } }
                Some(false) => { "inherited from the " a href=(defaults) { "defaults" } }
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
        "What a {thing} does not set for itself it inherits from here, also what is changed later. A pause holds for {things} without any settings."
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

    fn rate_of(own: Own) -> String {
        let limits = Limits {
            own,
            inherited: None,
        };
        limits.rate().into_string()
    }

    #[test]
    fn an_unusual_interval_is_an_option_too() {
        let own = Own {
            rate: Some(3),
            rate_per: Some("00:00:07".to_owned()),
            rate_seconds: Some(7.0),
            ..Own::default()
        };
        let html = rate_of(own);
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
        let own = Own {
            rate_per: Some("00:01:00".to_owned()),
            rate_seconds: Some(60.0),
            ..Own::default()
        };
        let html = rate_of(own);
        assert!(
            html.contains(r#"<option value="1 minute" selected>minute"#),
            "{html}"
        );
        assert!(!html.contains("00:01:00"), "{html}");
        assert_eq!(per(86_400.0), "day");
    }

    #[test]
    fn a_field_says_what_is_inherited() {
        let inherited = Gate {
            slots: Some(4),
            rate_seconds: 60.0,
            burst: Some(1),
            ..Gate::default()
        };
        let mut limits = Limits {
            inherited: Some(inherited),
            ..Limits::default()
        };
        let html = limits.slots("slots").into_string();
        assert!(html.contains(r#"placeholder="inherits (4)""#), "{html}");
        let html = limits.rate().into_string();
        for part in [
            r#"placeholder="inherits (no limit)""#,
            r#"<option value="" selected>inherits (minute)"#,
            r#"placeholder="inherits (1)""#,
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        limits.own.slots = Some(-1);
        let html = limits.slots("slots").into_string();
        assert!(html.contains(r#"name="slots" value="no limit""#), "{html}");
        limits.inherited = None;
        let html = limits.max_waiting().into_string();
        assert!(html.contains(r#"placeholder="no limit""#), "{html}");
    }
}
