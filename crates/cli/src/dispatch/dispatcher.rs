//! What becomes of a run: the endpoint of its kind is asked, and its answer decides.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::time::timeout;
use turnstile_client::{Handler, Outcome, Run, StopReason};

use super::class;
use super::directory::Directory;
use super::endpoint::{Endpoint, Mode, Row};
use super::exchange::exchange;
use super::hosts::Hosts;
use super::request::{Requests, body};
use super::verdict::{self, Report, Verdict};
use crate::http::client::Clients;
use crate::http::payload::{Payload, Touched};

/// Jobs of an endpoint that is paused, though others of its host are not, are looked at again so often. Each look is a start of the
/// host, so more of them would use up its rate.
const WHILE_PAUSED: Duration = Duration::from_secs(5 * 60);
const TO_REPORT: Duration = Duration::from_secs(1);
/// The server did not say which endpoint a kind has.
const WITHOUT_ANSWER: Duration = Duration::from_secs(5);

pub struct Dispatcher {
    pub directory: Directory,
    pub requests: Requests,
    pub clients: Clients,
    pub hosts: Hosts,
}

/// Why nothing was asked, or what came of it.
type Asked = Result<(Arc<Endpoint>, Verdict), Outcome>;

impl Handler for Dispatcher {
    async fn handle(&self, run: Run) -> Outcome {
        let sent = OnceLock::new();
        let asked = tokio::select! {
            biased;
            asked = self.ask(&run, &sent) => asked,
            reason = run.stopped() => return stopped(reason, sent.get().is_some_and(Touched::get)),
        };
        // An answer counts, whatever else is asked of the run from now on.
        match asked {
            Ok((endpoint, verdict)) => self.settle(&endpoint.row, &run, verdict).await,
            Err(outcome) => outcome,
        }
    }
}

impl Dispatcher {
    async fn ask(&self, run: &Run, sent: &OnceLock<Touched>) -> Asked {
        let endpoint = self.endpoint_of(&run.job.kind).await?;
        let time = endpoint.time_for(run.lease());
        let body = body(&endpoint, &run.job);
        let payload = Payload::new(body.clone());
        let touched = sent.get_or_init(|| payload.touched());
        let request = self.requests.of(&endpoint, &run.job, time, &body, payload);
        let request = request.map_err(Outcome::Fail)?;
        let client = self.clients.of(endpoint.row.allow_private);
        let wants_body = endpoint.row.keep_response || endpoint.row.mode == Mode::Fireworq;
        let met = exchange(client, request, touched, time, wants_body).await;
        let verdict = verdict::of(&endpoint.row, met);
        Ok((endpoint, verdict))
    }

    async fn endpoint_of(&self, kind: &str) -> Result<Arc<Endpoint>, Outcome> {
        match self.directory.endpoint_of(kind).await {
            Ok(Some(Ok(endpoint))) if endpoint.row.paused => Err(Outcome::Snooze(WHILE_PAUSED)),
            Ok(Some(Ok(endpoint))) => Ok(endpoint),
            Ok(Some(Err(failure))) => Err(Outcome::Fail(failure)),
            Ok(None) => {
                let error = format!("no endpoint for the kind {kind}");
                Err(Outcome::Fail(class::of(class::ENDPOINT)(error)))
            }
            Err(error) => {
                tracing::warn!(%error, "the server does not tell the endpoint");
                Err(Outcome::Snooze(WITHOUT_ANSWER))
            }
        }
    }

    /// The server hears of the host before the run ends: only a run that lasts may tell of it.
    async fn settle(&self, endpoint: &Row, run: &Run, verdict: Verdict) -> Outcome {
        let of_host = self.hosts.note(endpoint, verdict.sign);
        for report in [of_host, verdict.report].into_iter().flatten() {
            self.report(endpoint, run, report).await;
        }
        verdict.outcome
    }

    /// One at a time of a host, and not what is known: hundreds of answers may say the same at once. None waits long for it either.
    async fn report(&self, endpoint: &Row, run: &Run, report: Report) {
        let Some(turn) = self.hosts.turn(endpoint, report) else {
            return;
        };
        match timeout(TO_REPORT, self.directory.report(&run.job, report)).await {
            Ok(Ok(())) => {
                tell_log(&endpoint.url, report);
                turn.was_told();
            }
            Ok(Err(error)) => tracing::warn!(%error, "the server was not told of the endpoint"),
            Err(_) => tracing::warn!("the server was not told of the endpoint in time"),
        }
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
            failure: "the dispatcher had to stop before the answer came".into(),
        },
        (StopReason::Shutdown, false) => Outcome::Release,
        (StopReason::Cancelled | StopReason::Lost, _) => Outcome::Fail("stopped".into()),
    }
}
