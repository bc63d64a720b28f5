//! Long lists: sorted by links, filtered by a part of the name, and cut with a word of what is not shown.

use maud::{Markup, html};
use serde::Deserialize;

use crate::listener::Problem;
use crate::serve::dashboard::html::number::grouped;
use crate::serve::dashboard::html::table::{Head, Order};
use crate::serve::dashboard::html::{form, note};
use crate::serve::dashboard::value::Value;
use crate::serve::dashboard::view::View;

/// Rows that are shown at most.
pub const MOST: i64 = 200;

/// The parameters of a list.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Listing {
    /// A part of the name.
    pub q: String,
    pub order: String,
}

impl Listing {
    pub fn of(view: &View) -> Result<Self, Problem> {
        view.query()
    }

    pub fn part(&self) -> Value {
        Value::text(self.q.trim())
    }

    pub fn most() -> Value {
        Value::from(MOST)
    }

    /// The server knows the orders, and takes the first for one that it does not know.
    pub fn order(&self) -> Value {
        Value::text(&self.order)
    }

    /// A heading that sorts: from the largest on, and names from A to Z.
    pub fn head<'a>(&self, view: &View, path: &str, head: Head<'a>, order: &str) -> Head<'a> {
        let link = view
            .link(path)
            .with_some("q", (!self.q.is_empty()).then_some(&self.q))
            .with_some("order", (!order.is_empty()).then_some(order));
        let way = if order == "name" || order == "queue" {
            Order::Ascending
        } else {
            Order::Descending
        };
        head.sorted(link.text(), (self.order == order).then_some(way))
    }

    pub fn filter(&self, view: &View, path: &str, label: &str) -> Markup {
        let action = view.link(path).text();
        let order = [("order", self.order.as_str())];
        let hide: form::Hidden<'_> = if self.order.is_empty() { &[] } else { &order };
        let clear = view
            .link(path)
            .with_some("order", (!self.order.is_empty()).then_some(&self.order))
            .text();
        let clear = (!self.q.is_empty()).then_some(clear.as_str());
        form::filters(
            &action,
            form::search("q", label, &self.q, "a part of the name"),
            hide,
            clear,
        )
    }

    /// "12 queues", "3 queues with “mail”", "The first 200 of 1 000 queues"
    pub fn told(&self, matching: i64, one: &str, many: &str) -> String {
        let things = if matching == 1 { one } else { many };
        let part = self.q.trim();
        let with = if part.is_empty() {
            String::new()
        } else {
            format!(" with “{part}”")
        };
        if matching > MOST {
            format!("The first {MOST} of {} {things}{with}", grouped(matching))
        } else {
            format!("{} {things}{with}", grouped(matching))
        }
    }

    /// The order that one gets without asking for another is told, too.
    pub fn ordered(&self, told: &str, order: &str) -> String {
        if self.order.is_empty() {
            format!("{told}, {order}")
        } else {
            told.to_owned()
        }
    }

    pub fn empty(&self, none: &str) -> String {
        let part = self.q.trim();
        if part.is_empty() {
            none.to_owned()
        } else {
            format!("Nothing here has “{part}” in its name.")
        }
    }

    /// Below a list that is cut.
    pub fn rest(&self, matching: i64, many: &str) -> Markup {
        if matching <= MOST {
            return html! {};
        }
        let text = format!(
            "{} more {many} are not shown. Filter by a part of the name, or sort by another column.",
            grouped(matching - MOST)
        );
        note::empty(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_told() {
        let all = Listing::default();
        assert_eq!(all.told(1, "queue", "queues"), "1 queue");
        assert_eq!(all.told(200, "queue", "queues"), "200 queues");
        assert_eq!(
            all.told(1_000, "queue", "queues"),
            "The first 200 of 1\u{202f}000 queues"
        );
        let some = Listing {
            q: " mail ".to_owned(),
            ..Listing::default()
        };
        assert_eq!(some.told(3, "queue", "queues"), "3 queues with “mail”");
        assert!(some.rest(200, "queues").into_string().is_empty());
        assert!(
            all.rest(201, "queues")
                .into_string()
                .contains("1 more queues")
        );
    }
}
