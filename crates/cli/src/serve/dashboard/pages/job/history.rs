//! What happened to a job, in the order of time: its attempts, its ends, and what comes next.

use maud::{Markup, html};

use crate::serve::dashboard::data::job::Attempt;
use crate::serve::dashboard::html::timeline::Step;
use crate::serve::dashboard::html::tone::Tone;
use crate::serve::dashboard::html::{badge, number, parts, time};

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
    /// How many attempts are known to have failed.
    pub failures: i64,
    /// The last of them, the newest first.
    pub attempts: &'a [Attempt],
    /// Ends from which it was brought back: the state with its time.
    pub earlier: &'a [(String, f64)],
}

pub fn steps(life: &Life<'_>) -> Vec<Step> {
    let mut steps = vec![Step {
        at: Some(life.created_at),
        title: "Enqueued".to_owned(),
        ..Step::default()
    }];
    let told = i64::try_from(life.attempts.len()).unwrap_or(i64::MAX);
    let hidden = life.failures.saturating_sub(told);
    if hidden > 0 {
        steps.push(Step {
            title: format!("{} earlier failures are not shown", number::grouped(hidden)),
            ..Step::default()
        });
    }
    let attempts = life.attempts.iter().enumerate().rev();
    steps.extend(attempts.map(|(back, attempt)| failed(attempt, back == 0)));
    let earlier = life.earlier.iter();
    steps.extend(earlier.map(|(state, at)| brought_back(state, *at)));
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
    steps
}

fn failed(failure: &Attempt, is_open: bool) -> Step {
    let title = match &failure.attempt {
        Some(attempt) => format!("Attempt {attempt} failed"),
        None => "Failed".to_owned(),
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
    let number = life.attempt.to_string();
    let mut failed = life.attempts.iter().map(|failure| failure.attempt.as_ref());
    let is_running = life.state == "running";
    if !is_running && failed.any(|attempt| attempt == Some(&number)) {
        return None;
    }
    let lease = life.lease_expires_at.filter(|_| is_running);
    let lease = lease.map_or_else(String::new, |until| {
        format!("lease until {}", time::stamp(until))
    });
    let what = if is_running { "runs" } else { "started" };
    Some(Step {
        at: Some(at),
        title: format!("Attempt {number} {what}"),
        detail: joined(&[by(life.worker), lease]),
        tone: if is_running { Tone::Info } else { Tone::Plain },
        note: None,
    })
}

fn ended(life: &Life<'_>, at: f64) -> Step {
    let began = life.claimed_at.filter(|began| *began <= at);
    let took = began.map_or_else(String::new, |began| {
        format!("after a run of {}", time::span_text(at - began))
    });
    let mut letters = life.state.chars();
    let first = letters.next().map(|first| first.to_uppercase());
    Step {
        at: Some(at),
        title: first.into_iter().flatten().chain(letters).collect(),
        detail: took,
        tone: badge::tone_of_state(life.state),
        note: None,
    }
}

/// What time alone will bring.
fn next(life: &Life<'_>) -> Option<Step> {
    let title = match life.state {
        "scheduled" => "Due",
        "retryable" => "Due again",
        _ => return None,
    };
    Some(Step {
        at: Some(life.run_at),
        title: title.to_owned(),
        detail: format!("for attempt {}", life.attempt.saturating_add(1)),
        tone: Tone::Info,
        note: None,
    })
}

fn by(worker: Option<&str>) -> String {
    worker.map_or_else(String::new, |worker| format!("by {worker}"))
}

fn joined(texts: &[String]) -> String {
    let given = texts.iter().map(String::as_str);
    let given: Vec<&str> = given.filter(|text| !text.is_empty()).collect();
    given.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titles(life: &Life<'_>) -> Vec<String> {
        steps(life).into_iter().map(|step| step.title).collect()
    }

    fn failure(attempt: i64, at: f64) -> Attempt {
        Attempt {
            attempt: Some(attempt.to_string()),
            at: Some(at),
            worker: None,
            error: None,
        }
    }

    #[test]
    fn a_life_is_told_in_order() {
        let life = Life {
            state: "running",
            created_at: 1.0,
            claimed_at: Some(9.0),
            attempt: 3,
            failures: 2,
            attempts: &[failure(2, 4.0), failure(1, 2.0)],
            earlier: &[("discarded".to_owned(), 5.0)],
            ..Life::default()
        };
        let expected = [
            "Enqueued",
            "Attempt 1 failed",
            "Attempt 2 failed",
            "Ended as discarded",
            "Attempt 3 runs",
        ];
        assert_eq!(titles(&life), expected);
    }

    #[test]
    fn what_is_next_comes_last() {
        let life = Life {
            state: "retryable",
            run_at: 20.0,
            claimed_at: Some(3.0),
            attempt: 1,
            failures: 1,
            attempts: &[failure(1, 4.0)],
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
        let last = steps.last().unwrap();
        assert_eq!(last.title, "Completed");
        let detail = last.detail.replace('\u{a0}', " ");
        assert_eq!(detail, "after a run of 2.5 s");
    }

    #[test]
    fn failures_that_are_not_told_are_counted() {
        let life = Life {
            state: "available",
            failures: 12,
            attempts: &[failure(12, 4.0), failure(11, 2.0)],
            ..Life::default()
        };
        let expected = [
            "Enqueued",
            "10 earlier failures are not shown",
            "Attempt 11 failed",
            "Attempt 12 failed",
        ];
        assert_eq!(titles(&life), expected);
    }
}
