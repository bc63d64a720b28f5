//! Where this program is connected, as whom, and how the server does.

pub mod history;
mod memory;
mod rights;

use maud::{Markup, html};
use serde::Deserialize;

use crate::listener::Problem;
use crate::serve::dashboard::content::Content;
use crate::serve::dashboard::html::layout::section;
use crate::serve::dashboard::html::table::pairs;
use crate::serve::dashboard::html::tone::Tone;
use crate::serve::dashboard::html::{badge, layout, note, number, parts, time};
use crate::serve::dashboard::view::View;

const SERVER: &str = include_str!("../../sql/server.sql");
const SINCE: &str = include_str!("../../sql/stats_reset.sql");

#[derive(Debug, Deserialize)]
struct Server {
    version: String,
    started_at: Option<f64>,
    address: Option<String>,
    port: Option<i64>,
    cluster: Option<String>,
}

/// Since when there are statistics. A standby has none.
#[derive(Debug, Deserialize)]
struct Counted {
    since: Option<f64>,
}

pub async fn draw(view: View) -> Result<Content, Problem> {
    let server: Option<Server> = view.row(SERVER, &[]).await?;
    let counted: Option<Counted> = if view.can.reads("stat_queue") {
        view.row(SINCE, &[]).await?
    } else {
        None
    };
    let since = counted.and_then(|counted| counted.since);
    let used = memory::read(&view).await?;
    let partitions = history::read(&view).await?;
    let now = view.now();
    Ok(Content::new("Health")
        .still(
            "head",
            layout::heading(html! { "Health" }, recovery(&view), html! {}),
        )
        .live(
            "warnings",
            html! {
                (not_installed(&view))
                (memory::warning(&view, used.as_deref()))
                (history::warning(partitions.as_deref(), now))
            },
        )
        .live("connection", connection(&view, server.as_ref(), since))
        .live("memory", memory::shown(&view, used.as_deref()))
        .live("history", history::shown(partitions.as_deref(), now))
        .still("rights", rights::shown(&view))
        .still("more", more(&view)))
}

fn recovery(view: &View) -> Markup {
    if view.can.in_recovery {
        badge::tone(Tone::Warn, "in recovery: a standby")
    } else {
        badge::tone(Tone::Good, "takes changes")
    }
}

fn not_installed(view: &View) -> Markup {
    if view.can.version.is_some() {
        return html! {};
    }
    super::parts::empty::not_installed(view)
}

fn connection(view: &View, server: Option<&Server>, since: Option<f64>) -> Markup {
    let text = |text: Option<&str>| number::or_none(text, parts::name);
    let place = server.map(|server| match (&server.address, server.port) {
        (Some(address), Some(port)) if address.contains(':') => format!("[{address}]:{port}"),
        (Some(address), Some(port)) => format!("{address}:{port}"),
        _ => "a socket of this machine".to_owned(),
    });
    let cluster = server.and_then(|server| server.cluster.as_deref());
    let version = server.map(|server| server.version.as_str());
    let program = env!("CARGO_PKG_VERSION");
    let extension = view.can.version.as_deref();
    section(
        "Connection",
        pairs(&[
            ("Database", parts::name(&view.can.database)),
            ("Server", text(place.as_deref())),
            ("Cluster", text(cluster.filter(|name| !name.is_empty()))),
            ("PostgreSQL", text(version)),
            ("Extension turnstile", text(extension)),
            (
                "This program",
                html! {
                    (program)
                    @if extension.is_some_and(|extension| extension != program) { " " span.faint { "(another version)" } }
                },
            ),
            (
                "Server started",
                time::full(server.and_then(|server| server.started_at), view.now()),
            ),
            ("Statistics since", time::full(since, view.now())),
        ]),
    )
}

fn more(view: &View) -> Markup {
    let link = |path: &str| view.link(path).text();
    let check = if view.can.calls("check") {
        "It reads all live jobs, so no page runs it."
    } else {
        "It reads all live jobs, so no page runs it. This role may not call it."
    };
    html! {
        (section("Compare memory with the tables", note::with(
            Tone::Plain,
            "turnstile.check() names every difference; no row means that all is well",
            check,
            None,
            html! { pre { "SELECT * FROM turnstile.check();" } },
        )))
        (section("For machines", html! {
            ul.legend {
                @if view.can.reads("metrics") { li { a href=(link("/metrics")) { "/metrics" } " figures, as OpenMetrics" } }
                li { a href=(link("/healthz")) { "/healthz" } " is this program up?" }
                li { a href=(link("/readyz")) { "/readyz" } " does it reach the server?" }
            }
        }))
    }
}
