//! What goes on with a job, in a sentence: readable before anything else is.

use maud::{Markup, html};
use serde_json::Value;

use super::found::{Children, counted};
use crate::serve::dashboard::data::job::Job;
use crate::serve::dashboard::html::{number, parts, time};
use crate::serve::dashboard::pages::parts::links;
use crate::serve::dashboard::view::View;

pub fn sentence(view: &View, job: &Job, children: &Children) -> Markup {
    let now = view.now();
    let ago = |at| time::ago(at, now);
    match job.state.as_str() {
        "available" => {
            html! { "It became due " (ago(job.run_at)) ", and waits for its turn." }
        }
        "scheduled" => html! { "It is due " (due(job, now)) "." },
        "retryable" => {
            html! { "Attempt " (job.attempt) " failed. The next one is due " (due(job, now)) "." }
        }
        "blocked" => blocked(view, job, children),
        "running" => running(job, now),
        "completed" => html! { "It completed " (ago(job.finished_at)) (after(job)) "." },
        "cancelled" => html! { "It was cancelled " (ago(job.finished_at)) "." },
        "discarded" => {
            html! { "It failed for good " (ago(job.finished_at)) ", " (attempts(job)) "." }
        }
        _ => html! {},
    }
}

fn due(job: &Job, now: f64) -> Markup {
    match job.run_at {
        Some(_) => time::ago(job.run_at, now),
        None => html! { "at no time: its time is infinite" },
    }
}

fn blocked(view: &View, job: &Job, children: &Children) -> Markup {
    if children.is_batch {
        return html! { "It waits for its children: see batch " (links::batch(view, job.id)) "." };
    }
    if children.live() > 0 {
        return html! { "It waits for its children." };
    }
    html! { "It waits for other jobs to end." }
}

fn running(job: &Job, now: f64) -> Markup {
    html! {
        "It started " (time::ago(job.started_at, now))
        @if let Some(worker) = &job.worker { ", by " (parts::name(worker)) }
        @if let Some(until) = job.lease_expires_at {
            @if until < now { ". Its lease has ended " } @else { ". Its lease ends " }
            (time::ago(Some(until), now))
        }
        "."
        @if job.cancel_requested_at.is_some() { " It was asked to stop " (time::ago(job.cancel_requested_at, now)) "." }
        @if let Some(progress) = told_progress(job) { " " (progress) }
    }
}

fn told_progress(job: &Job) -> Option<Markup> {
    let documents = job.documents.as_ref()?;
    progress(documents.progress.as_ref()?.get())
}

/// "37 of 120: page 37." from {done, total, message, at}; a worker may have written anything.
fn progress(text: &str) -> Option<Markup> {
    let told: Value = serde_json::from_str(text).ok()?;
    let whole = |name: &str| told.get(name).and_then(Value::as_i64);
    let message = told.get("message").and_then(Value::as_str);
    let done = whole("done");
    if done.is_none() && message.is_none() {
        return None;
    }
    Some(html! {
        "Progress: "
        @if let Some(done) = done {
            strong { (number::count(done)) }
            @if let Some(total) = whole("total") { " of " (number::count(total)) }
        }
        @if let Some(message) = message {
            @if done.is_some() { ", " }
            (parts::cut(message, 200))
        }
        "."
    })
}

fn after(job: &Job) -> Markup {
    match (job.started_at, job.finished_at) {
        (Some(began), Some(ended)) if began <= ended => {
            html! { ", after a run of " (time::span(ended - began)) }
        }
        _ => html! {},
    }
}

fn attempts(job: &Job) -> String {
    match counted(job) {
        0 => "without an attempt that counts".to_owned(),
        1 => "after 1 attempt".to_owned(),
        many => format!("after {many} attempts"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_may_be_anything() {
        let told = |text| progress(text).map(Markup::into_string);
        assert_eq!(
            told(r#"{"done": 37, "total": 1200, "message": "<b>"}"#).unwrap(),
            "Progress: <strong>37</strong> of 1\u{202f}200, <bdi>&lt;b&gt;</bdi>."
        );
        for other in ["3", "{}", "[]", r#"{"done": "x"}"#] {
            assert_eq!(told(other), None, "{other}");
        }
    }
}
