//! What happened to a job: its attempts, its ends, and what comes next. The newest first, since that is what one looks for.

use maud::{Markup, html};

use super::failures::Failure;
use crate::serve::dashboard::html::timeline::Step;
use crate::serve::dashboard::html::tone::Tone;
use crate::serve::dashboard::html::{badge, number, parts, time};

/// Failed attempts that are shown, the last ones.
pub const MOST_FAILURES: usize = 50;
/// A longer line is one to fold.
const LONG_LINE: usize = 160;

/// What the steps are made of.
#[derive(Debug, Default)]
pub struct Life<'a> {
    pub state: &'a str,
    pub created_at: f64,
    pub run_at: f64,
    pub claimed_at: Option<f64>,
    pub finished_at: Option<f64>,
    pub lease_expires_at: Option<f64>,
    pub cancel_requested_at: Option<f64>,
    pub attempt: i32,
    pub worker: Option<&'a str>,
    pub failures: &'a [Failure],
    /// Ends from which it was brought back: the state with its time.
    pub earlier: &'a [(String, f64)],
}

pub fn steps(life: &Life<'_>) -> Vec<Step> {
    let mut steps = vec![Step {
        at: Some(life.created_at),
        title: "Enqueued".to_owned(),
        ..Step::default()
    }];
    let hidden = life.failures.len().saturating_sub(MOST_FAILURES);
    if hidden > 0 {
        steps.push(Step {
            title: format!(
                "{} earlier failures are not shown",
                number::grouped(hidden as i64)
            ),
            ..Step::default()
        });
    }
    let is_last = |at: usize| at + 1 == life.failures.len();
    steps.extend(
        life.failures
            .iter()
            .enumerate()
            .skip(hidden)
            .map(|(at, failure)| failed(failure, is_last(at))),
    );
    steps.extend(
        life.earlier
            .iter()
            .map(|(state, at)| brought_back(state, *at)),
    );
    steps.extend(run(life));
    steps.extend(life.cancel_requested_at.map(|at| Step {
        at: Some(at),
        title: "Cancellation requested".to_owned(),
        tone: Tone::Warn,
        ..Step::default()
    }));
    steps.extend(life.finished_at.map(|at| ended(life, at)));
    steps.extend(next(life));
    let known = |step: &Step| step.at.unwrap_or(life.created_at);
    steps.sort_by(|one, other| known(one).total_cmp(&known(other)));
    steps.reverse();
    steps
}

fn failed(failure: &Failure, is_open: bool) -> Step {
    let attempt = failure
        .attempt
        .map_or_else(String::new, |attempt| format!("Attempt {attempt} "));
    let title = if attempt.is_empty() {
        "Failed".to_owned()
    } else {
        format!("{attempt}failed")
    };
    Step {
        at: failure.at,
        title,
        detail: by(failure.worker.as_deref()),
        tone: Tone::Bad,
        note: failure.error.as_deref().map(|error| told(error, is_open)),
    }
}

/// Long errors are folded, apart from the last one.
fn told(error: &str, is_open: bool) -> Markup {
    let is_short = !error.trim_end().contains('\n') && error.chars().count() <= LONG_LINE;
    if is_short || is_open {
        return parts::block(error);
    }
    html! {
        details {
            summary { (parts::cut(error, LONG_LINE)) }
            (parts::block(error))
        }
    }
}

fn brought_back(state: &str, at: f64) -> Step {
    Step {
        at: Some(at),
        title: format!("Ended as {state}"),
        detail: "and was brought back later".to_owned(),
        tone: badge::tone_of_state(state),
        ..Step::default()
    }
}

/// The last attempt, unless it is told as one that failed.
fn run(life: &Life<'_>) -> Option<Step> {
    let at = life.claimed_at?;
    let is_told = life
        .failures
        .iter()
        .any(|failure| failure.attempt == Some(i64::from(life.attempt)));
    let is_running = life.state == "running";
    if is_told && !is_running {
        return None;
    }
    let lease = life.lease_expires_at.filter(|_| is_running);
    let lease = lease.map_or_else(String::new, |until| {
        format!("lease until {}", time::stamp(until))
    });
    Some(Step {
        at: Some(at),
        title: format!(
            "Attempt {} {}",
            life.attempt,
            if is_running { "runs" } else { "started" }
        ),
        detail: joined(&[by(life.worker), lease]),
        tone: if is_running { Tone::Info } else { Tone::Plain },
        note: None,
    })
}

fn ended(life: &Life<'_>, at: f64) -> Step {
    let took = life
        .claimed_at
        .filter(|began| *began <= at)
        .map(|began| at - began);
    let mut letters = life.state.chars();
    let title = letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    });
    Step {
        at: Some(at),
        title,
        detail: took.map_or_else(String::new, |took| {
            format!("after a run of {}", time::span_text(took))
        }),
        tone: badge::tone_of_state(life.state),
        note: None,
    }
}

/// What time alone will bring.
fn next(life: &Life<'_>) -> Option<Step> {
    let (title, tone) = match life.state {
        "scheduled" => ("Due", Tone::Info),
        "retryable" => ("Due again", Tone::Info),
        _ => return None,
    };
    Some(Step {
        at: Some(life.run_at),
        title: title.to_owned(),
        detail: format!("for attempt {}", life.attempt.saturating_add(1)),
        tone,
        note: None,
    })
}

fn by(worker: Option<&str>) -> String {
    worker.map_or_else(String::new, |worker| format!("by {worker}"))
}

fn joined(texts: &[String]) -> String {
    let given: Vec<&str> = texts
        .iter()
        .map(String::as_str)
        .filter(|text| !text.is_empty())
        .collect();
    given.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titles(life: &Life<'_>) -> Vec<String> {
        steps(life)
            .into_iter()
            .rev()
            .map(|step| step.title)
            .collect()
    }

    fn failure(attempt: i64, at: f64) -> Failure {
        Failure {
            attempt: Some(attempt),
            at: Some(at),
            ..Failure::default()
        }
    }

    #[test]
    fn a_life_is_told_in_order() {
        let life = Life {
            state: "running",
            created_at: 1.0,
            claimed_at: Some(9.0),
            attempt: 3,
            failures: &[failure(1, 2.0), failure(2, 4.0)],
            earlier: &[("discarded".to_owned(), 5.0)],
            ..Life::default()
        };
        assert_eq!(
            titles(&life),
            [
                "Enqueued",
                "Attempt 1 failed",
                "Attempt 2 failed",
                "Ended as discarded",
                "Attempt 3 runs"
            ]
        );
    }

    #[test]
    fn what_is_next_comes_last() {
        let life = Life {
            state: "retryable",
            run_at: 20.0,
            claimed_at: Some(3.0),
            attempt: 1,
            failures: &[failure(1, 4.0)],
            ..Life::default()
        };
        assert_eq!(titles(&life), ["Enqueued", "Attempt 1 failed", "Due again"]);
    }

    #[test]
    fn an_end_says_how_long_the_run_took() {
        let life = Life {
            state: "completed",
            claimed_at: Some(3.0),
            finished_at: Some(5.5),
            attempt: 1,
            ..Life::default()
        };
        let steps = steps(&life);
        let last = steps.first().unwrap();
        assert_eq!(last.title, "Completed");
        assert_eq!(last.detail.replace('\u{a0}', " "), "after a run of 2.5 s");
    }

    #[test]
    fn many_failures_are_cut_in_front() {
        let failures: Vec<Failure> = (1..=60)
            .map(|attempt| failure(attempt, attempt as f64))
            .collect();
        let life = Life {
            state: "available",
            failures: &failures,
            ..Life::default()
        };
        let titles = titles(&life);
        assert_eq!(titles.len(), MOST_FAILURES + 2);
        assert_eq!(titles.get(1).unwrap(), "10 earlier failures are not shown");
        assert_eq!(titles.last().unwrap(), "Attempt 60 failed");
    }
}
