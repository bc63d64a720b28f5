//! A filter as a sentence has it: what is about to be changed must be read, not guessed.

use maud::{Markup, html};

use crate::serve::dashboard::filter::Filter;
use crate::serve::dashboard::html::{parts, time};

/// "discarded jobs of kind send_mail in queue mail, of tenant acme". `states`: those that the jobs may have.
pub fn sentence(filter: &Filter, states: &[&str]) -> Markup {
    let mut clauses = Vec::new();
    for (lead, name) in [
        ("of kind", &filter.kind),
        ("in queue", &filter.queue),
        ("of tenant", &filter.tenant),
        ("of account", &filter.account),
        ("of session", &filter.session),
    ] {
        if !name.is_empty() {
            clauses.push(html! { (lead) " " strong { (parts::name(name)) } });
        }
    }
    if !filter.parent.is_empty() {
        clauses.push(
            html! { "that are children of job " strong { (parts::mono(filter.parent.trim())) } },
        );
    }
    if !filter.payload.is_empty() {
        clauses.push(html! { "whose payload contains " (parts::mono(&filter.payload)) });
    }
    if let Ok(Some(seconds)) = filter.older() {
        clauses.push(html! { (age(states)) " more than " strong { (time::span_text(seconds as f64)) } " ago" });
    }
    html! {
        @for (at, state) in states.iter().enumerate() {
            (separator(at, states.len())) strong { (state) }
        }
        @if !states.is_empty() { " " }
        "jobs"
        @for (at, clause) in clauses.iter().enumerate() {
            @if at == 0 { " " } @else { ", " }
            (clause)
        }
    }
}

fn separator(at: usize, count: usize) -> &'static str {
    match at {
        0 => "",
        at if at + 1 < count => ", ",
        _ => " and ",
    }
}

/// What the age of a job counts from.
fn age(states: &[&str]) -> &'static str {
    let is_ended = |state: &&str| ["completed", "cancelled", "discarded"].contains(state);
    let ended = states.iter().filter(|state| is_ended(state)).count();
    match ended {
        0 if !states.is_empty() => "enqueued",
        ended if ended == states.len() && ended > 0 => "that ended",
        _ => "enqueued, or that ended,",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(filter: &Filter, states: &[&str]) -> String {
        let text = sentence(filter, states).into_string();
        let mut plain = String::new();
        let mut inside = false;
        for letter in text.chars() {
            match letter {
                '<' => inside = true,
                '>' => inside = false,
                '\u{a0}' => plain.push(' '),
                letter if !inside => plain.push(letter),
                _ => {}
            }
        }
        plain
    }

    #[test]
    fn a_filter_reads_as_a_sentence() {
        let filter = Filter {
            queue: "mail".to_owned(),
            kind: "<b>".to_owned(),
            parent: "12".to_owned(),
            older: "3600".to_owned(),
            ..Filter::default()
        };
        assert_eq!(
            plain(&filter, &["retryable", "cancelled", "discarded"]),
            "retryable, cancelled and discarded jobs of kind &lt;b&gt;, in queue mail, that are children of job 12, enqueued, or that ended, more than 1 h ago"
        );
        let filter = Filter {
            older: "60".to_owned(),
            ..Filter::default()
        };
        assert_eq!(
            plain(&filter, &["discarded"]),
            "discarded jobs that ended more than 1 min ago"
        );
        assert_eq!(
            plain(&filter, &["available"]),
            "available jobs enqueued more than 1 min ago"
        );
        assert_eq!(plain(&Filter::default(), &[]), "jobs");
    }
}
