//! One request and its answer, in the time that there is.

use std::fmt;
use std::time::{Duration, SystemTime};

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::RETRY_AFTER;
use hyper::{Request, Response, StatusCode};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::class;
use crate::error::with_causes;
use crate::http::client::{Client, told};
use crate::http::payload::{Payload, Touched};
use crate::http::resolve::Refused;
use crate::http::retry_after;

/// The longest body that is kept.
const LONGEST: usize = 1024 * 1024;
/// So much of a body that nobody wants is read, so that the connection can be used again.
const SKIPPED: usize = 64 * 1024;
pub const LONGEST_CONNECT: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    /// More than nothing.
    pub retry_after: Option<Duration>,
    pub body: Bytes,
    /// The body was no longer than what is kept.
    pub is_whole: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The address is none that requests may go to.
    Refused(String),
    Network(String),
    Late(&'static str),
}

impl Trouble {
    /// What retry curves go by.
    pub fn class(&self) -> &'static str {
        match self {
            Trouble::Refused(_) => class::ADDRESS,
            Trouble::Network(_) => class::NETWORK,
            Trouble::Late(_) => class::TIMEOUT,
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Refused(reason) | Trouble::Network(reason) => formatter.write_str(reason),
            Trouble::Late(what) => formatter.write_str(what),
        }
    }
}

/// When the steps of a request have to be done.
struct Deadlines {
    connected: Instant,
    first_byte: Instant,
    end: Instant,
}

impl Deadlines {
    fn within(time: Duration) -> Self {
        let now = Instant::now();
        Self {
            connected: now + (time / 3).min(LONGEST_CONNECT),
            first_byte: now + time / 10 * 9,
            end: now + time,
        }
    }
}

/// `wants_body`: else it is only read to its end.
pub async fn exchange(
    client: &Client,
    request: Request<Payload>,
    sent: &Touched,
    time: Duration,
    wants_body: bool,
) -> Result<Answer, Trouble> {
    let deadlines = Deadlines::within(time);
    let response = head(client, request, sent, &deadlines).await?;
    let status = response.status();
    let retry_after = response
        .headers()
        .get(RETRY_AFTER)
        .and_then(|value| retry_after::parse(value.to_str().ok()?, SystemTime::now()))
        // No time at all, or a past one by a clock that is behind, would spend all attempts in a moment.
        .filter(|pause| !pause.is_zero());
    let limit = if wants_body { LONGEST } else { SKIPPED };
    let (body, is_whole) = timeout_at(deadlines.end, read(response.into_body(), limit))
        .await
        .map_err(|_| Trouble::Late("the answer did not end in time"))??;
    Ok(Answer {
        status,
        retry_after,
        body,
        is_whole,
    })
}

async fn head(
    client: &Client,
    request: Request<Payload>,
    sent: &Touched,
    deadlines: &Deadlines,
) -> Result<Response<Incoming>, Trouble> {
    let mut answered = std::pin::pin!(client.request(request));
    tokio::select! {
        response = &mut answered => return response.map_err(|error| trouble(&error)),
        () = sleep_until(deadlines.connected) => {
            if !sent.get() {
                return Err(Trouble::Late("no connection in time"));
            }
        }
    }
    match timeout_at(deadlines.first_byte, answered).await {
        Ok(response) => response.map_err(|error| trouble(&error)),
        Err(_) => Err(Trouble::Late("no answer in time")),
    }
}

/// No more than the limit. A body that is longer is left, and its connection with it.
async fn read(mut body: Incoming, limit: usize) -> Result<(Bytes, bool), Trouble> {
    let mut kept = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            Trouble::Network(format!("the answer broke off: {}", with_causes(&error)))
        })?;
        if let Ok(data) = frame.into_data() {
            let room = limit.saturating_sub(kept.len());
            kept.extend_from_slice(data.get(..room.min(data.len())).unwrap_or_default());
            if data.len() > room {
                return Ok((kept.freeze(), false));
            }
        }
    }
    Ok((kept.freeze(), true))
}

fn trouble(error: &hyper_util::client::legacy::Error) -> Trouble {
    match Refused::behind(error) {
        Some(_) => Trouble::Refused(told(error)),
        None => Trouble::Network(told(error)),
    }
}
