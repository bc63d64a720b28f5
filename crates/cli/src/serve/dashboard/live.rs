//! Live parts: a page sends, for as long as it is open, those of its regions that have changed.

use std::collections::HashMap;
use std::convert::Infallible;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http_body_util::channel::{Channel, Sender};
use hyper::body::Frame;

use super::capabilities::Capabilities;
use super::drawings::Region;
use super::places::Place;
use super::routes::Page;
use super::seen::Seen;
use super::view::View;
use crate::listener::Problem;
use crate::serve::asked::{self, Asked};

const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
/// All pages are drawn at the same moments, so that those that show the same cost the server one statement.
const PACE: Duration = Duration::from_secs(2);
/// A page rests for so many times as long as the server worked for it, for each page that is live, so that all of them together keep it busy for
/// a tenth of the time at most.
const REST: u32 = 10;
/// As if so many were live.
const FEWEST: u32 = 4;
const LONGEST_REST: Duration = Duration::from_secs(15);
/// The browser opens another one then, and shows who it is again.
const LONGEST: Duration = Duration::from_secs(600);
/// The browser comes back after so many milliseconds.
const GREETING: &str = "retry: 3000\n\n";
const NOTHING: &str = ": nothing has changed\n\n";

pub async fn stream(view: View, page: &'static Page, headers: &HeaderMap) -> Response {
    let place = view.shared.live.take(view.access.identity());
    let Some(place) = place else {
        return Problem::unavailable("Too many pages are live.").into_response();
    };
    let (events, body) = Channel::<Bytes, Infallible>::new(1);
    let seen = Seen::of(&view, headers);
    tokio::spawn(send(view, page, seen, events, place));
    ([(CONTENT_TYPE, EVENTS)], Body::new(body)).into_response()
}

async fn send(
    view: View,
    page: &'static Page,
    seen: Seen,
    mut events: Sender<Bytes, Infallible>,
    _place: Place,
) {
    let ends = view.shared.ends.clone();
    tokio::select! {
        () = asked::until(ends, Asked::Once) => {}
        _ = tokio::time::timeout(LONGEST, go_on(view, page, seen, &mut events)) => {}
    }
}

/// Until the browser has gone, or the page cannot be drawn any more.
async fn go_on(
    mut view: View,
    page: &'static Page,
    mut seen: Seen,
    events: &mut Sender<Bytes, Infallible>,
) -> Option<()> {
    let slot = view
        .shared
        .drawings
        .slot(view.access.identity(), view.address());
    put(events, GREETING.to_owned()).await?;
    // The page is newer than what was drawn for others before it.
    let mut since = Instant::now();
    loop {
        if !view.shared.logins.is_believed(&view.access) {
            return None;
        }
        view.can = Capabilities::of(&view.shared.readings, &view.access)
            .await
            .ok()?;
        if !page.is_open_to(&view) {
            return None;
        }
        // A failure may pass; the page says that it is not live until it has.
        let drawing = slot.draw(since, (page.draw)(view.clone())).await.ok()?;
        put(events, event(&mut seen, &drawing.regions)?).await?;
        let work = drawing.took * view.shared.drawings.count().max(FEWEST);
        let rest = pause(work, view.shared.live.began.elapsed());
        since = Instant::now() + rest.saturating_sub(PACE / 4);
        tokio::time::sleep(rest).await;
    }
}

/// Until the next common moment, for a page of which all that are live would take so long, so long after the program began.
fn pause(work: Duration, since_begin: Duration) -> Duration {
    let rest = (work * REST).clamp(PACE / 2, LONGEST_REST);
    let moments = (since_begin + rest).as_nanos().div_ceil(PACE.as_nanos());
    let next = PACE * u32::try_from(moments).unwrap_or(u32::MAX);
    next.saturating_sub(since_begin).max(PACE / 2)
}

/// The regions that the page lacks.
fn event(seen: &mut Seen, drawing: &[Region]) -> Option<String> {
    let changed: HashMap<&str, &str> = drawing
        .iter()
        .filter(|region| seen.is_new(region))
        .map(|region| (region.id, region.html.as_str()))
        .collect();
    if changed.is_empty() {
        return Some(NOTHING.to_owned());
    }
    // JSON has no line ends outside of strings, and in strings they are escaped.
    let data = serde_json::to_string(&changed).ok()?;
    Some(format!("id: {}\ndata: {data}\n\n", Seen::name(drawing)))
}

async fn put(events: &mut Sender<Bytes, Infallible>, text: String) -> Option<()> {
    events.send(Frame::data(Bytes::from(text))).await.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_drawn_at_the_same_moments() {
        let of = |work, since| pause(Duration::from_millis(work), Duration::from_millis(since));
        assert_eq!(of(20, 10_010), Duration::from_millis(1_990));
        assert_eq!(of(20, 11_200), Duration::from_millis(2_800));
        assert_eq!(of(160, 10_040), Duration::from_millis(1_960));
        assert_eq!(of(400, 10_100), Duration::from_millis(5_900));
        assert_eq!(of(9_000, 10_100), Duration::from_millis(15_900));
    }
}
