//! Which versions of its live regions a page has: it says so when it asks for events, and gets what differs.

use std::collections::HashMap;

use axum::http::HeaderMap;
use serde::Deserialize;

use super::content::Content;
use super::drawings::{Region, version};
use super::view::View;

const LAST_EVENT_ID: &str = "last-event-id";

#[derive(Default)]
pub struct Seen(HashMap<String, u64>);

#[derive(Default, Deserialize)]
#[serde(default)]
struct Query {
    /// In the address of events. A browser that comes back by itself sends the header instead.
    seen: String,
}

impl Seen {
    pub fn of(view: &View, headers: &HeaderMap) -> Self {
        let last = headers
            .get(LAST_EVENT_ID)
            .and_then(|value| value.to_str().ok());
        match last {
            Some(text) => Self::read(text),
            None => Self::read(&view.query::<Query>().unwrap_or_default().seen),
        }
    }

    fn read(text: &str) -> Self {
        let parts = text.split(',').filter_map(|part| {
            let (id, version) = part.split_once('.')?;
            let version = u64::from_str_radix(version, 16).ok()?;
            Some((id.to_owned(), version))
        });
        Self(parts.collect())
    }

    /// As the page got it at first.
    pub fn first(content: &Content) -> String {
        let live = content.regions.iter().filter(|region| region.is_live);
        joined(live.map(|region| (region.id, version(&region.html.0))))
    }

    /// Whether the page lacks it. From now on it has it.
    pub fn is_new(&mut self, region: &Region) -> bool {
        let known = self.0.insert(region.id.to_owned(), region.version);
        known != Some(region.version)
    }

    /// The name of an event after which the page has all of these.
    pub fn name(drawing: &[Region]) -> String {
        joined(drawing.iter().map(|region| (region.id, region.version)))
    }
}

fn joined<'a>(versions: impl Iterator<Item = (&'a str, u64)>) -> String {
    let parts: Vec<String> = versions
        .map(|(id, version)| format!("{id}.{version:x}"))
        .collect();
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(id: &'static str, html: &str) -> Region {
        Region {
            id,
            html: html.to_owned(),
            version: version(html),
        }
    }

    #[test]
    fn a_page_lacks_what_has_changed() {
        let drawing = [region("head", "a"), region("rows", "b")];
        let mut seen = Seen::read(&Seen::name(&drawing));
        assert!(!drawing.iter().any(|region| seen.is_new(region)));
        assert!(seen.is_new(&region("rows", "c")) && !seen.is_new(&region("rows", "c")));
        assert!(seen.is_new(&region("rows", "b")));
    }

    #[test]
    fn what_is_no_version_is_not_known() {
        let mut seen = Seen::read("head,rows.xyz,.,");
        assert!(seen.is_new(&region("head", "a")) && seen.is_new(&region("rows", "b")));
    }
}
