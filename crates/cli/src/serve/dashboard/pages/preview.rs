//! What a change of all jobs that match would do, before it is begun: to which jobs, to how many, and what becomes of them.

use maud::{Markup, html};
use serde::Deserialize;

use super::jobs::deed::Words;
use super::jobs::trimmed;
use super::jobs::words::sentence;
use crate::listener::Problem;
use crate::serve::dashboard::content::Content;
use crate::serve::dashboard::data::count::{Count, MOST_COUNTED};
use crate::serve::dashboard::data::jobs;
use crate::serve::dashboard::data::rest::Rest;
use crate::serve::dashboard::filter::Filter;
use crate::serve::dashboard::html::number::grouped;
use crate::serve::dashboard::html::tone::Tone;
use crate::serve::dashboard::html::{form, layout, note};
use crate::serve::dashboard::view::View;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Query {
    deed: String,
}

pub async fn draw(view: View) -> Result<Content, Problem> {
    let Query { deed } = view.query()?;
    let filter = trimmed(view.query()?);
    let words = Words::named(&deed)
        .ok_or_else(|| Problem::bad_request("Say what to do: deed is retry, cancel or discard."))?;
    let states = words.states(&filter.state);
    let content = match obstacle(&view, words, &filter, &states) {
        Some(said) => said,
        None => {
            // What was typed wrong is told here, and not by the change that nobody sees fail.
            filter.older()?;
            filter.parent()?;
            let count = jobs::count(&view, &filter, &states).await?;
            offer(&view, words, &filter, &states, &count)
        }
    };
    let list = filter.add_to(view.link("/jobs")).text();
    let trail = layout::trail(&[
        (&view.link("/jobs").text(), "Jobs"),
        (&list, "Those that match"),
    ]);
    let title = format!("{} jobs", words.verb);
    Ok(Content::new(&title).still(
        "preview",
        html! {
            (trail)
            (layout::heading(html! { (title) }, html! {}, html! {}))
            (content)
        },
    ))
}

/// Why it cannot be done.
fn obstacle(view: &View, words: &Words, filter: &Filter, states: &[&str]) -> Option<Markup> {
    let (title, hint) = if view.can.in_recovery {
        (
            "This server is a standby, which takes no changes.",
            "They are made at the primary.",
        )
    } else if !view.writes() {
        (
            "This dashboard only shows.",
            "turnstile serve changes something with --allow-writes alone.",
        )
    } else if !words.is_offered(view) {
        (
            "Your role may not change many jobs.",
            "turnstile.allow_operator or allow_tenant lets it.",
        )
    } else if filter.is_empty() {
        (
            "Say which jobs: at least one filter is needed.",
            "Set it in the list of jobs.",
        )
    } else if !filter.payload.is_empty() {
        (
            "Jobs that are chosen by their payload are changed one by one.",
            "Choose them by something else.",
        )
    } else if states.is_empty() {
        (
            "Jobs in this state cannot be changed so.",
            "Choose another state, or none.",
        )
    } else {
        return None;
    };
    Some(note::note(Tone::Info, title, "", Some(hint)))
}

fn offer(view: &View, words: &Words, filter: &Filter, states: &[&str], count: &Count) -> Markup {
    let many = amount(count);
    let list = filter.add_to(view.link("/jobs")).text();
    if count.jobs == 0 && !count.is_capped() {
        return html! {
            p { (words.verb) " " (sentence(filter, states)) "." }
            (note::empty("No job matches at this moment."))
        };
    }
    let expected = expected(count).map(|jobs| jobs.to_string());
    let mut fields: Vec<(&str, &str)> = filter.given().collect();
    fields.extend(expected.as_deref().map(|jobs| ("expected", jobs)));
    let button = format!("{} {many}", words.verb);
    let tone = if words.tone == Tone::Bad {
        Tone::Warn
    } else {
        Tone::Info
    };
    html! {
        p { (words.verb) " all " (sentence(filter, states)) "." }
        (note::with(tone, &matching(count), words.effect, limits(view, count, filter).as_deref(), html! {
            p { "It goes on in chunks, as fast as the server lets it, also when the browser has gone. Jobs that others have locked are skipped." }
            (form::row(&[
                form::button(&view.link(words.path).text(), &button, &fields, words.tone),
                form::link_button(&list, "Back to the list", Tone::Plain),
            ]))
        }))
    }
}

/// "312 jobs", "10 000 or more jobs", "at least 312 jobs"
fn amount(count: &Count) -> String {
    let jobs = grouped(count.jobs);
    match count.rest {
        Rest::Nothing if count.jobs == 1 => "1 job".to_owned(),
        Rest::Nothing if count.is_exact => format!("{jobs} jobs"),
        Rest::Nothing => format!("about {jobs} jobs"),
        Rest::More(_) => format!("{jobs} or more jobs"),
        Rest::Unknown(_) | Rest::Unread(_) => format!("at least {jobs} jobs"),
    }
}

/// As a sentence.
fn matching(count: &Count) -> String {
    let verb = if count.jobs == 1 && !count.is_capped() {
        "matches"
    } else {
        "match"
    };
    format!("{} {verb}.", capital(&amount(count)))
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase());
    first.into_iter().flatten().chain(letters).collect()
}

/// What the progress is compared with: `MOST_COUNTED` says that there may be more.
fn expected(count: &Count) -> Option<i64> {
    match count.rest {
        Rest::Nothing => count.is_exact.then_some(count.jobs),
        Rest::More(_) => Some(MOST_COUNTED),
        Rest::Unknown(_) | Rest::Unread(_) => None,
    }
}

/// What the count leaves open.
fn limits(view: &View, count: &Count, filter: &Filter) -> Option<String> {
    let counted = match count.rest {
        Rest::Nothing => None,
        Rest::More(_) => Some(format!(
            "Nobody counts further than {}; all that match are changed.",
            grouped(MOST_COUNTED)
        )),
        Rest::Unknown(id) => Some(format!(
            "Time was up at job {}; all that match are changed.",
            grouped(id)
        )),
        Rest::Unread(missing) => Some(format!(
            "Time was up before {} more that run were found; all that match are changed.",
            grouped(missing)
        )),
    };
    let is_tenant = !view.can.reads("job_status") && filter.tenant.is_empty();
    let named = is_tenant
        .then(|| "A role that may change jobs of some tenants must name the tenant.".to_owned());
    let texts: Vec<String> = [counted, named].into_iter().flatten().collect();
    (!texts.is_empty()).then(|| texts.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_says_how_exact_it_is() {
        let told = |jobs, rest, is_exact| {
            let count = Count {
                jobs,
                rest,
                is_exact,
            };
            (amount(&count), expected(&count))
        };
        assert_eq!(told(1, Rest::Nothing, true), ("1 job".to_owned(), Some(1)));
        assert_eq!(
            told(312, Rest::Nothing, true),
            ("312 jobs".to_owned(), Some(312))
        );
        assert_eq!(
            told(MOST_COUNTED, Rest::More(7), true),
            ("10\u{202f}000 or more jobs".to_owned(), Some(MOST_COUNTED))
        );
        assert_eq!(
            told(0, Rest::Unknown(7), true),
            ("at least 0 jobs".to_owned(), None)
        );
        assert_eq!(
            told(3_000, Rest::Nothing, false),
            ("about 3\u{202f}000 jobs".to_owned(), None)
        );
        assert_eq!(capital("at least"), "At least");
    }
}
