//! One job: what goes on with it, why it waits, its attempts, what it has to do with others, and what is in it.

mod contents;
mod facts;
pub mod found;
mod history;
pub mod levers;
pub mod relatives;
mod state;
mod why;

use maud::{Markup, html};
use serde::Deserialize;

use self::found::Children;
use self::history::Life;
use crate::listener::Problem;
use crate::serve::dashboard::content::Content;
use crate::serve::dashboard::data::job::{self, Job};
use crate::serve::dashboard::html::tone::Tone;
use crate::serve::dashboard::html::{badge, layout, note, parts, timeline};
use crate::serve::dashboard::view::View;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Query {
    id: String,
}

pub async fn draw(view: View) -> Result<Content, Problem> {
    let Query { id } = view.query()?;
    let id = number(&id)?;
    let job = job::find(&view, id).await?.ok_or_else(|| missing(id))?;
    let ends = found::ends(&view, &job).await?;
    let children = Children::of(&view, id).await?;
    let ties = job::dependencies(&view, id).await?;
    let pause = found::session_pause(&view, &job).await?;
    let failed = job.documents.as_ref();
    let attempts = failed.map_or(&[][..], |documents| &documents.attempts);
    let earlier = ends
        .into_iter()
        .filter(|end| Some(end.finished_at) != job.finished_at)
        .map(|end| (end.state, end.finished_at))
        .collect::<Vec<_>>();
    let life = Life {
        state: &job.state,
        created_at: job.created_at.unwrap_or_default(),
        run_at: job.run_at.unwrap_or(f64::INFINITY),
        claimed_at: job.started_at,
        finished_at: job.finished_at,
        lease_expires_at: job.lease_expires_at,
        cancel_requested_at: job.cancel_requested_at,
        attempt: job.attempt,
        worker: job.worker.as_deref(),
        failures: failed.map_or(0, |documents| documents.failures),
        attempts,
        earlier: &earlier,
    };
    let last_error = attempts
        .first()
        .and_then(|failure| failure.error.as_deref());
    let steps = timeline::timeline(&history::steps(&life), view.now());
    let content = Content::new(format!("Job {id}"))
        .still("trail", trail(&view, &job))
        .live("head", head(&view, &job, &children, last_error))
        .live("why", waiting(&view, &job).await)
        .live("facts", facts::facts(&view, &job))
        .live(
            "relatives",
            html! {
                (relatives::children_of(&view, id, &children))
                (relatives::tied(&view, &job, &ties))
            },
        )
        .live("history", layout::section("What happened", steps))
        .live("contents", contents::folded(&job, &view.can.role))
        .live("session", levers::session(&view, &job, pause.as_ref()))
        .still("priority", levers::priority(&view, &job));
    Ok(content)
}

fn number(text: &str) -> Result<i64, Problem> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Problem::bad_request(
            "Say which job: its number is missing.",
        ));
    }
    text.parse()
        .map_err(|_| Problem::bad_request("The number of a job is a whole number."))
}

fn missing(id: i64) -> Problem {
    Problem::not_found(format!("There is no job {id}.")).hint(Some(
        "It may have left the history, or be one that your role may not see.",
    ))
}

fn trail(view: &View, job: &Job) -> Markup {
    layout::trail(&[
        (&view.link("/jobs").text(), "Jobs"),
        (
            &view.link("/jobs").with("queue", &job.queue).text(),
            &job.queue,
        ),
    ])
}

fn head(view: &View, job: &Job, children: &Children, last_error: Option<&str>) -> Markup {
    let title = html! { (parts::name(&job.kind)) " " span.faint { (job.id) } };
    let is_bad = job.state == "discarded" || job.state == "retryable";
    html! {
        (layout::heading(title, badge::state_large(&job.state), levers::buttons(view, job, children.live())))
        p { (state::sentence(view, job, children)) }
        @if let Some(error) = last_error.filter(|_| is_bad) {
            @let tone = if job.finished_at.is_some() { Tone::Bad } else { Tone::Warn };
            (note::with(tone, "The last error", "", None, parts::cut(error, 300)))
        }
    }
}

async fn waiting(view: &View, job: &Job) -> Markup {
    if !found::waits(job) || !view.can.calls("why_waiting") {
        return html! {};
    }
    let found = match job::reasons(view, job.id).await {
        Ok(None) => return html! {},
        Ok(Some(reasons)) => Ok(reasons),
        Err(problem) => Err(problem),
    };
    let estimate = if job.state == "blocked" {
        None
    } else {
        job::estimate(view, job.id).await
    };
    why::reasons(view, job.tenant.as_deref(), &found, estimate.as_ref())
}
