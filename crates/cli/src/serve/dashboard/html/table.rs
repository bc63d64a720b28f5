//! Tables. On narrow screens a row becomes a block in which each cell has its heading.

use maud::{Markup, html};

use super::icon::{Icon, icon};
use super::note;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Ascending,
    Descending,
}

/// A link that sorts by a column. `now` is its order if the table is sorted by it.
#[derive(Clone, Debug)]
pub struct Sort {
    pub href: String,
    pub now: Option<Order>,
}

#[derive(Clone, Debug, Default)]
pub struct Head<'a> {
    pub label: &'a str,
    /// Numbers stand at the right, under each other.
    pub numeric: bool,
    pub sort: Option<Sort>,
    /// What the column means, on hover.
    pub title: Option<&'a str>,
}

impl<'a> Head<'a> {
    pub fn text(label: &'a str) -> Self {
        Self {
            label,
            ..Self::default()
        }
    }

    pub fn number(label: &'a str) -> Self {
        Self {
            label,
            numeric: true,
            ..Self::default()
        }
    }

    /// Of what can be done with a row.
    pub fn actions() -> Self {
        Self::default()
    }

    pub fn titled(self, title: &'a str) -> Self {
        Self {
            title: Some(title),
            ..self
        }
    }

    pub fn sorted(self, href: String, now: Option<Order>) -> Self {
        Self {
            sort: Some(Sort { href, now }),
            ..self
        }
    }

    fn class(&self) -> Option<&'static str> {
        self.numeric.then_some("number")
    }

    fn order(&self) -> Option<Order> {
        self.sort.as_ref().and_then(|sort| sort.now)
    }
}

/// The first cell of a row names it. `caption` says what is shown and in which order; without rows `empty` stands there instead.
pub fn table(headers: &[Head<'_>], rows: Vec<Vec<Markup>>, caption: &str, empty: &str) -> Markup {
    if rows.is_empty() {
        return note::empty(empty);
    }
    // Tables that are laid out as blocks lose their meaning for screen readers unless roles say it.
    html! {
        div.scroll {
            table role="table" {
                caption { (caption) }
                thead role="rowgroup" {
                    tr role="row" { @for head in headers { (heading(head)) } }
                }
                tbody role="rowgroup" {
                    @for cells in rows {
                        tr role="row" {
                            @for (at, (head, cell)) in headers.iter().zip(cells).enumerate() {
                                @if at == 0 {
                                    th scope="row" role="rowheader" class=[head.class()] data-label=(head.label) { (cell) }
                                } @else {
                                    td role="cell" class=[head.class()] data-label=(head.label) { (cell) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn heading(head: &Head<'_>) -> Markup {
    let order = head.order().map(|order| match order {
        Order::Ascending => "ascending",
        Order::Descending => "descending",
    });
    html! {
        th scope="col" role="columnheader" class=[head.class()] title=[head.title] aria-sort=[order] {
            @match &head.sort {
                Some(sort) => a href=(sort.href) {
                    (head.label)
                    @match sort.now {
                        Some(Order::Ascending) => (icon(Icon::Up)),
                        Some(Order::Descending) => (icon(Icon::Down)),
                        None => {},
                    }
                },
                None if head.label.is_empty() => span.hidden { "Actions" },
                None => (head.label),
            }
        }
    }
}

/// Names with their values, for the page of one thing.
pub fn pairs(pairs: &[(&str, Markup)]) -> Markup {
    html! {
        dl.pairs {
            @for (name, value) in pairs {
                div { dt { (name) } dd { (value) } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> String {
        let headers = [
            Head::text("Queue"),
            Head::number("Waiting")
                .titled("Due jobs")
                .sorted("?sort=waiting".to_owned(), Some(Order::Descending)),
        ];
        let rows = vec![vec![html! { "mail" }, html! { "12" }]];
        table(&headers, rows, "Most work first", "No queue").into_string()
    }

    #[test]
    fn cells_have_their_headings() {
        let text = sample();
        assert!(text.contains("<caption>Most work first</caption>"));
        assert!(
            text.contains("<th scope=\"row\" role=\"rowheader\" data-label=\"Queue\">mail</th>")
        );
        assert!(text.contains("<td role=\"cell\" class=\"number\" data-label=\"Waiting\">12</td>"));
        assert!(
            text.contains("title=\"Due jobs\" aria-sort=\"descending\"><a href=\"?sort=waiting\">")
        );
    }

    #[test]
    fn without_rows_there_is_a_word() {
        let text = table(
            &[Head::text("Queue")],
            Vec::new(),
            "Most work first",
            "No queue",
        );
        assert_eq!(text.into_string(), "<p class=\"empty\">No queue</p>");
    }
}
