//! What becomes of a run: the endpoint of its kind is asked, and its answer decides.

use std::sync::OnceLock;
use std::time::Duration;

use turnstile_client::{Handler, Outcome, Run, StopReason};

use super::directory::Directory;
use super::endpoint::{Endpoint, Mode};
use super::exchange::exchange;
use super::hosts::Hosts;
use super::request::{Requests, body};
use super::verdict::{self, Report, Verdict};
use crate::http::client::Clients;
use crate::http::payload::{Payload, Touched};

/// Jobs of an endpoint that is paused, though others of its host are not, are looked at again so often.
const WHILE_PAUSED: Duration = Duration::from_secs(60);
/// The server did not say which endpoint a kind has.
const WITHOUT_ANSWER: Duration = Duration::from_secs(5);

pub struct Dispatcher {
    pub directory: Directory,
    pub requests: Requests,
    pub clients: Clients,
    pub hosts: Hosts,
}

impl Handler for Dispatcher {
    async fn handle(&self, run: Run) -> Outcome {
        let sent = OnceLock::new();
        tokio::select! {
            outcome = self.deliver(&run, &sent) => outcome,
            reason = run.stopped() => stopped(reason, sent.get().is_some_and(Touched::get)),
        }
    }
}

impl Dispatcher {
    async fn deliver(&self, run: &Run, sent: &OnceLock<Touched>) -> Outcome {
        let kind = &run.job.kind;
        let found = match self.directory.endpoint_of(kind).await {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(%error, "the server does not tell the endpoint");
                return Outcome::Snooze(WITHOUT_ANSWER);
            }
        };
        match found.as_deref() {
            None => Outcome::Fail(format!("no endpoint for the kind {kind}")),
            Some(Err(error)) => Outcome::Fail(error.clone()),
            Some(Ok(endpoint)) if endpoint.row.paused => Outcome::Snooze(WHILE_PAUSED),
            Some(Ok(endpoint)) => self.ask(endpoint, run, sent).await,
        }
    }

    async fn ask(&self, endpoint: &Endpoint, run: &Run, sent: &OnceLock<Touched>) -> Outcome {
        let time = endpoint.time_for(run.lease());
        let payload = Payload::new(body(endpoint, &run.job));
        let touched = sent.get_or_init(|| payload.touched());
        let request = match self.requests.of(endpoint, &run.job, time, payload) {
            Ok(request) => request,
            Err(error) => return Outcome::Fail(error),
        };
        let client = self.clients.of(endpoint.row.allow_private);
        let wants_body = endpoint.row.keep_response || endpoint.row.mode == Mode::Fireworq;
        let met = exchange(client, request, touched, time, wants_body).await;
        self.settle(endpoint, run, verdict::of(&endpoint.row, met))
            .await
    }

    /// The server hears of the host before the run ends: only a run that lasts may tell of it.
    async fn settle(&self, endpoint: &Endpoint, run: &Run, verdict: Verdict) -> Outcome {
        let of_host = self.hosts.note(&endpoint.row, verdict.sign);
        for report in [of_host, verdict.report].into_iter().flatten() {
            tell_log(&endpoint.row.url, report);
            if let Err(error) = self.directory.report(&run.job, report).await {
                tracing::warn!(%error, "the server was not told of the endpoint");
            }
        }
        verdict.outcome
    }
}

fn tell_log(url: &str, report: Report) {
    match report {
        Report::Works => tracing::info!(url, "the host works again"),
        Report::Failing => {
            tracing::warn!(url, "the host fails, and is tried with one job at a time")
        }
        Report::Busy(pause) => tracing::warn!(
            url,
            ?pause,
            "the host is busy, and gets no jobs for a while"
        ),
        Report::Gone => tracing::error!(url, "the endpoint is gone (410), and is paused"),
    }
}

/// What may have gone out counts as an attempt, for the endpoint may have done the work.
fn stopped(reason: StopReason, was_sent: bool) -> Outcome {
    match (reason, was_sent) {
        (StopReason::Shutdown, true) => Outcome::Retry {
            after: None,
            error: "the dispatcher had to stop before the answer came".to_owned(),
        },
        (StopReason::Shutdown, false) => Outcome::Release,
        (StopReason::Cancelled | StopReason::Lost, _) => Outcome::Fail("stopped".to_owned()),
    }
}
