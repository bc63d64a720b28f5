//! A page with all that is around it: the navigation, who looks, and what the last lever said.

use maud::html;

use super::content::Content;
use super::html::layout::{self, Frame, NavItem};
use super::levers::done::notice;
use super::routes::PAGES;
use super::seen::Seen;
use super::view::View;

/// `path`: that of the page, or nothing for an error.
pub fn document(view: &View, path: &str, content: &Content) -> String {
    let base = view.base();
    let places: Vec<(&str, &str, String)> = PAGES
        .iter()
        .filter(|page| page.is_open_to(view))
        .filter_map(|page| Some((page.path, page.label?, format!("{base}{}", page.path))))
        .collect();
    let nav: Vec<NavItem<'_>> = places
        .iter()
        .map(|(key, label, href)| NavItem { key, label, href })
        .collect();
    let is_live = content.regions.iter().any(|region| region.is_live);
    let live_url = is_live.then(|| view.address());
    let seen = is_live.then(|| Seen::first(content));
    let notice = notice(view);
    let frame = Frame {
        base,
        title: &content.title,
        here: above(path),
        nav: &nav,
        who: &view.can.role,
        writes: view.writes(),
        live_url: live_url.as_deref(),
        seen: seen.as_deref(),
        database: &view.can.database,
        notice: notice.as_ref(),
        now: view.now(),
    };
    let regions = html! {
        @for region in &content.regions {
            @if region.is_live { (layout::live(region.id, region.html.clone())) } @else { (region.html) }
        }
    };
    layout::page(frame, regions).into_string()
}

/// The page of the navigation that a page belongs to.
fn above(path: &str) -> &'static str {
    match path {
        "/queue" => "/queues",
        "/tenant" => "/tenants",
        "/job" | "/jobs/change" | "/change" => "/jobs",
        "/batch" => "/batches",
        _ => PAGES
            .iter()
            .find(|page| page.path == path)
            .map_or("", |page| page.path),
    }
}
