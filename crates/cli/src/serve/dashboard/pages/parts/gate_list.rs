//! Pages that list gates of one kind: queues, tenants or concurrency keys.

use maud::{Markup, html};

use super::gate::Gate;
use super::limits;
use super::listing::Listing;
use crate::serve::dashboard::content::Content;
use crate::serve::dashboard::html::number::{self, count_or_faint};
use crate::serve::dashboard::html::table::Head;
use crate::serve::dashboard::html::{layout, time};
use crate::serve::dashboard::view::View;

/// A page that lists gates of one kind.
pub struct List<'a> {
    pub title: &'a str,
    pub path: &'a str,
    /// What a part is looked for in.
    pub searched: &'a str,
    /// The page of their defaults, and the table that those are in.
    pub defaults: (&'a str, &'a str),
    /// Of the region, and what the gates are called.
    pub many: &'static str,
}

impl List<'_> {
    /// `table`: of these gates, each of which knows how many there are.
    pub fn page(&self, view: &View, listing: &Listing, gates: &[Gate], table: Markup) -> Content {
        let (path, settings) = self.defaults;
        let head = layout::heading(
            html! { (self.title) },
            html! {},
            limits::defaults_link(view, path, settings),
        );
        let rest = listing.rest(matching(gates), self.many);
        Content::new(self.title)
            .still("head", head)
            .still("filter", listing.filter(view, self.path, self.searched))
            .live(self.many, html! { (table) (rest) })
    }
}

/// How many there are, of which these are shown.
pub fn matching(gates: &[Gate]) -> i64 {
    gates.first().map_or(0, |gate| gate.matching)
}

/// The headings that lists of gates share. A heading sorts by its order.
pub struct Heads<'a> {
    view: &'a View,
    listing: &'a Listing,
    path: &'a str,
}

impl<'a> Heads<'a> {
    pub fn new(view: &'a View, listing: &'a Listing, path: &'a str) -> Self {
        Self {
            view,
            listing,
            path,
        }
    }

    pub fn sorted<'h>(&self, head: Head<'h>, order: &str) -> Head<'h> {
        self.listing.head(self.view, self.path, head, order)
    }

    pub fn number<'h>(&self, label: &'h str, order: &str) -> Head<'h> {
        self.sorted(Head::number(label), order)
    }

    pub fn oldest(&self) -> Head<'static> {
        let head = Head::number("Oldest");
        let head = head.titled("How long the first of those that wait has been due");
        self.sorted(head, "oldest")
    }

    pub fn later(&self) -> Head<'static> {
        let head = Head::number("Later").titled("Scheduled, retryable and blocked jobs");
        self.sorted(head, "later")
    }

    pub fn pace(&self) -> [Head<'static>; 2] {
        let of_minute =
            |label, order| self.sorted(Head::number(label).titled("In the last minute"), order);
        [
            of_minute("Started", "started"),
            of_minute("Finished", "finished"),
        ]
    }

    pub fn statistics(&self) -> [Head<'static>; 2] {
        let wait = Head::number("Wait p95").titled(
            "What 95 of 100 jobs had not passed before they started, since statistics began",
        );
        let failed = Head::number("Failed").titled("Runs, since statistics began");
        [self.sorted(wait, "wait"), self.sorted(failed, "failed")]
    }
}

/// Below `Heads::later`.
pub fn later(gate: &Gate) -> Markup {
    count_or_faint(gate.scheduled + gate.retryable + gate.blocked)
}

pub fn pace(gate: &Gate) -> [Markup; 2] {
    [gate.claimed_per_minute, gate.finished_per_minute].map(|jobs| number::rate(jobs as f64))
}

pub fn statistics(gate: &Gate) -> [Markup; 2] {
    [
        number::or_none(gate.wait_p95_ms, time::span_ms),
        number::or_none(gate.failed, count_or_faint),
    ]
}
