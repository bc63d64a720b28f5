//! What chooses jobs: the form, and the states as tabs.

use maud::{Markup, html};
use serde::Deserialize;

use crate::listener::Problem;
use crate::serve::dashboard::filter::Filter;
use crate::serve::dashboard::html::tabs::{Tab, tabs};
use crate::serve::dashboard::html::{badge, form, time};
use crate::serve::dashboard::view::View;

const FEW: &str = include_str!("../../sql/few.sql");

const STATES: [&str; 8] = [
    "available",
    "running",
    "retryable",
    "scheduled",
    "blocked",
    "discarded",
    "cancelled",
    "completed",
];

const AGES: [&str; 7] = ["60", "600", "3600", "21600", "86400", "259200", "604800"];

/// Live jobs by state, as memory has them.
#[derive(Debug, Deserialize)]
pub struct Counts {
    scheduled: i64,
    retryable: i64,
    blocked: i64,
    running: i64,
    waiting: i64,
}

impl Counts {
    fn of(&self, state: &str) -> Option<i64> {
        match state {
            "available" => Some(self.waiting),
            "running" => Some(self.running),
            "retryable" => Some(self.retryable),
            "scheduled" => Some(self.scheduled),
            "blocked" => Some(self.blocked),
            _ => None,
        }
    }
}

/// Where nothing but the queue and the state chooses, it is known how many there are.
pub async fn counts(view: &View, filter: &Filter) -> Result<Option<Counts>, Problem> {
    let others = filter
        .given()
        .any(|(name, _)| name != "state" && name != "queue");
    if others || !view.can.figures() {
        return Ok(None);
    }
    view.row(FEW, &[Filter::text(&filter.queue)]).await
}

pub fn states(view: &View, filter: &Filter, counts: Option<&Counts>) -> Markup {
    let in_state = |state: &str| {
        let link = view.link("/jobs");
        filter.add_with(link, "state", state).text()
    };
    let all = Tab {
        label: "all states",
        href: in_state(""),
        icon: None,
        count: None,
        is_here: filter.state.is_empty(),
    };
    let each = STATES.iter().map(|state| Tab {
        label: state,
        href: in_state(state),
        icon: Some(badge::icon_of_state(state)),
        count: counts.and_then(|counts| counts.of(state)),
        is_here: filter.state == *state,
    });
    let drawn: Vec<Tab<'_>> = [all].into_iter().chain(each).collect();
    tabs("State", &drawn)
}

pub fn form(view: &View, filter: &Filter) -> Markup {
    let ages = ages(&filter.older);
    let ages: Vec<(&str, &str)> = ages
        .iter()
        .map(|(value, words)| (value.as_str(), words.as_str()))
        .collect();
    let fields = html! {
        (form::search("kind", "Kind", &filter.kind, "any"))
        (form::input("queue", "Queue", &filter.queue, "any"))
        (form::input("tenant", "Tenant", &filter.tenant, "any"))
        (form::input("account", "Account", &filter.account, "any"))
        (form::input("session", "Session", &filter.session, "any"))
        (form::select("older", "Enqueued, or ended", &ages, &filter.older))
        (form::input("parent", "Child of job", &filter.parent, "any"))
        @if view.can.payloads() {
            (form::input("payload", "Payload contains", &filter.payload, r#"{"order": 42}"#))
        }
    };
    let hide = [("state", filter.state.as_str())];
    let hide: form::Hidden<'_> = if filter.state.is_empty() { &[] } else { &hide };
    let clear = view.link("/jobs").text();
    let clear = (!filter.is_empty()).then_some(clear.as_str());
    form::filters(&clear_of(view), fields, hide, clear)
}

fn clear_of(view: &View) -> String {
    view.link("/jobs").text()
}

/// An age that was written into the URL by hand is one, too.
fn ages(chosen: &str) -> Vec<(String, String)> {
    let words = |seconds: &str| {
        let span = seconds.parse().map(time::span_text);
        span.map_or_else(
            |_| seconds.to_owned(),
            |span| format!("more than {span} ago"),
        )
    };
    let mut ages = vec![(String::new(), "at any time".to_owned())];
    ages.extend(
        AGES.iter()
            .map(|seconds| ((*seconds).to_owned(), words(seconds))),
    );
    if !ages.iter().any(|(seconds, _)| seconds == chosen) {
        ages.push((chosen.to_owned(), words(chosen)));
    }
    ages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_age_can_be_chosen() {
        assert_eq!(ages("").len(), AGES.len() + 1);
        assert_eq!(ages("3600").len(), AGES.len() + 1);
        let last = ages("90").pop().unwrap();
        assert_eq!(
            (last.0.as_str(), last.1.replace('\u{a0}', " ").as_str()),
            ("90", "more than 1 min 30 s ago")
        );
        assert_eq!(ages("x").pop().unwrap().1, "x");
    }
}
