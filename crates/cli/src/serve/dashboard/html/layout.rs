//! The whole document, and what pages are divided into.

use maud::{DOCTYPE, Markup, html};

use super::icon::{Icon, icon};
use super::tone::Tone;

#[derive(Clone, Copy, Debug)]
pub struct NavItem<'a> {
    pub key: &'a str,
    pub label: &'a str,
    pub href: &'a str,
}

/// What became of the last change.
#[derive(Clone, Debug)]
pub struct Notice {
    pub text: String,
}

#[derive(Clone, Debug)]
pub struct Frame<'a> {
    /// What stands before all paths: "" or "/queue".
    pub base: &'a str,
    pub title: &'a str,
    /// The key of the item of `nav` that this page belongs to.
    pub here: &'a str,
    pub nav: &'a [NavItem<'a>],
    /// The role that asks.
    pub who: &'a str,
    pub writes: bool,
    /// Where the page gets its events from, if it has live parts.
    pub live_url: Option<&'a str>,
    /// What it has of them already.
    pub seen: Option<&'a str>,
    pub database: &'a str,
    pub notice: Option<&'a Notice>,
    /// Of the server: relative times count from here, whatever the clock of the browser says.
    pub now: f64,
}

pub fn page(frame: Frame<'_>, content: Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(frame.base, frame.title))
            body data-live-url=[frame.live_url] data-seen=[frame.seen] data-now=(frame.now) {
                a.skip href="#main" { "Skip to the content" }
                (header(&frame))
                main id="main" tabindex="-1" {
                    @if let Some(notice) = frame.notice { (notice_box(notice)) }
                    (content)
                }
                footer {
                    p { "Turnstile " (env!("CARGO_PKG_VERSION")) }
                    p { "Times on hover are in UTC." }
                }
            }
        }
    }
}

/// For those of whom it is not known who they are.
pub fn bare(base: &str, title: &str, content: Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(base, title))
            body {
                header.top.alone { div.bar { span.brand { (icon(Icon::Turnstile)) "Turnstile" } } }
                main id="main" { h1 { (title) } (content) }
            }
        }
    }
}

fn head(base: &str, title: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            title { (title) " · Turnstile" }
            link rel="icon" type="image/svg+xml" href=(asset(base, "favicon.svg"));
            link rel="stylesheet" href=(asset(base, "style.css"));
            script src=(asset(base, "script.js")) defer {}
        }
    }
}

/// A change of the program is a change of the address, since browsers keep these files for long.
fn asset(base: &str, name: &str) -> String {
    format!("{base}/static/{name}?v={VERSION:016x}")
}

const VERSION: u64 = hash(
    hash(
        hash(0xcbf2_9ce4_8422_2325, include_str!("../static/style.css")),
        include_str!("../static/script.js"),
    ),
    include_str!("../static/favicon.svg"),
);

/// FNV-1a: it only has to change with the text.
const fn hash(begin: u64, text: &str) -> u64 {
    let mut hash = begin;
    let mut rest = text.as_bytes();
    while let [first, others @ ..] = rest {
        hash = (hash ^ *first as u64).wrapping_mul(0x0100_0000_01b3);
        rest = others;
    }
    hash
}

fn header(frame: &Frame<'_>) -> Markup {
    html! {
        header.top {
            div.bar {
                a.brand href={ (frame.base) "/" } { (icon(Icon::Turnstile)) "Turnstile" }
                span.database { span.hidden { "Database " } bdi { (frame.database) } }
                div.status {
                    @if frame.live_url.is_some() {
                        div.live id="live" hidden {
                            span.live-state role="status" {}
                            button.plain type="button" id="live-toggle" { "Pause" }
                        }
                        noscript { span.faint { "Reload for new figures" } }
                    }
                    @if !frame.writes { span.badge.plain { (icon(Icon::Lock)) "read-only" } }
                    span.who { span.hidden { "Role " } bdi { (frame.who) } }
                }
            }
            nav aria-label="Main" {
                ul {
                    @for item in frame.nav {
                        li { a href=(item.href) aria-current=[(item.key == frame.here).then_some("page")] { (item.label) } }
                    }
                }
            }
        }
    }
}

fn notice_box(notice: &Notice) -> Markup {
    html! {
        div class={ "note notice " (Tone::Good.class()) } role="status" { (icon(Tone::Good.icon())) p { (notice.text) } }
    }
}

// ---- Within a page --------------------------------------------------------------------------------

/// The title of the page with what stands beside it, as the state of a job, and what can be done.
pub fn heading(title: Markup, beside: Markup, actions: Markup) -> Markup {
    html! {
        div.heading {
            h1 { (title) }
            (beside)
            div.actions { (actions) }
        }
    }
}

/// The way to this page from the one above it.
pub fn trail(steps: &[(&str, &str)]) -> Markup {
    html! {
        nav.trail aria-label="Path" {
            ol { @for (href, label) in steps { li { a href=(href) { (label) } } } }
        }
    }
}

/// A part of the page that events replace. `id` is its name in them.
pub fn live(id: &str, content: Markup) -> Markup {
    html! { section id=(id) data-live { (content) } }
}

/// A part of the page with its heading.
pub fn section(title: &str, content: Markup) -> Markup {
    html! { section.part { h2 { (title) } (content) } }
}

/// A part with its heading and something beside that, as a link or a button.
pub fn section_with(title: &str, beside: Markup, content: Markup) -> Markup {
    html! {
        section.part {
            div.part-head { h2 { (title) } (beside) }
            (content)
        }
    }
}

/// Parts beside each other where there is room.
pub fn columns(parts: &[Markup]) -> Markup {
    html! { div.columns { @for part in parts { div { (part) } } } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_files_changes_with_them() {
        assert_ne!(hash(1, "a"), hash(1, "b"));
        assert!(asset("/queue", "style.css").starts_with("/queue/static/style.css?v="));
    }

    #[test]
    fn a_page_says_where_one_is() {
        let nav = [
            NavItem {
                key: "jobs",
                label: "Jobs",
                href: "/jobs",
            },
            NavItem {
                key: "health",
                label: "Health",
                href: "/health",
            },
        ];
        let frame = Frame {
            base: "",
            title: "Jobs",
            here: "jobs",
            nav: &nav,
            who: "ann",
            writes: false,
            live_url: None,
            seen: None,
            database: "app",
            notice: None,
            now: 1.5,
        };
        let text = page(frame, html! { p { "x" } }).into_string();
        assert!(text.contains("<a href=\"/jobs\" aria-current=\"page\">Jobs</a>"));
        assert!(text.contains("<a href=\"/health\">Health</a>"));
        assert!(text.contains("read-only"));
        assert!(!text.contains("data-live-url") && !text.contains("id=\"live\""));
    }
}
