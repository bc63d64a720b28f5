//! Live parts: a page sends, for as long as it is open, those of its regions that have changed.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http_body_util::channel::{Channel, Sender};
use hyper::body::Frame;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::capabilities::Capabilities;
use super::pages::Content;
use super::routes::Page;
use super::view::View;
use crate::listener::Problem;
use crate::serve::Asked;

const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const PACE: Duration = Duration::from_secs(2);
/// It rests for nine times as long as the server worked.
const REST: u32 = 9;
/// The browser opens another one then, and shows who it is again.
const LONGEST: Duration = Duration::from_secs(600);
const MOST: usize = 500;
/// The browser comes back after so many milliseconds.
const GREETING: &str = "retry: 3000\n\n";
const NOTHING: &str = ": nothing has changed\n\n";

/// How many pages may be live at once.
pub struct Places(Arc<Semaphore>);

impl Default for Places {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MOST)))
    }
}

pub async fn stream(view: View, page: &'static Page) -> Response {
    let places = Arc::clone(&view.dashboard.0.live.0);
    let Ok(place) = places.try_acquire_owned() else {
        return Problem::unavailable("Too many pages are live.").into_response();
    };
    let (events, body) = Channel::<Bytes, Infallible>::new(1);
    tokio::spawn(send(view, page, events, place));
    ([(CONTENT_TYPE, EVENTS)], Body::new(body)).into_response()
}

async fn send(
    view: View,
    page: &'static Page,
    mut events: Sender<Bytes, Infallible>,
    _place: OwnedSemaphorePermit,
) {
    let mut ends = view.dashboard.0.ends.clone();
    tokio::select! {
        _ = ends.wait_for(|asked| *asked != Asked::Never) => {}
        _ = tokio::time::timeout(LONGEST, go_on(view, page, &mut events)) => {}
    }
}

/// Until the browser has gone, or the page cannot be drawn any more.
async fn go_on(
    mut view: View,
    page: &'static Page,
    events: &mut Sender<Bytes, Infallible>,
) -> Option<()> {
    let mut sent: HashMap<&'static str, String> = HashMap::new();
    put(events, GREETING.to_owned()).await?;
    loop {
        let began = Instant::now();
        view.can = Capabilities::of(&view.dashboard, &view.access).await.ok()?;
        if !page.is_open_to(&view) {
            return None;
        }
        // A failure may pass; the page says that it is not live until it has.
        let content = (page.draw)(view.clone()).await.ok()?;
        put(events, event(&mut sent, content)?).await?;
        tokio::time::sleep(PACE.max(began.elapsed() * REST)).await;
    }
}

/// The regions that are not what was sent last.
fn event(sent: &mut HashMap<&'static str, String>, content: Content) -> Option<String> {
    let mut changed = HashMap::new();
    for region in content.regions.into_iter().filter(|region| region.is_live) {
        let html = region.html.into_string();
        if sent.get(region.id) != Some(&html) {
            changed.insert(region.id, html.clone());
            sent.insert(region.id, html);
        }
    }
    if changed.is_empty() {
        return Some(NOTHING.to_owned());
    }
    // JSON has no line ends outside of strings, and in strings they are escaped.
    let data = serde_json::to_string(&changed).ok()?;
    Some(format!("data: {data}\n\n"))
}

async fn put(events: &mut Sender<Bytes, Infallible>, text: String) -> Option<()> {
    events.send(Frame::data(Bytes::from(text))).await.ok()
}
