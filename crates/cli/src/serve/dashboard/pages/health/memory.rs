//! What the scheduler has in shared memory.

use maud::{Markup, html};
use serde::Deserialize;

use crate::listener::Problem;
use crate::serve::dashboard::html::layout::section;
use crate::serve::dashboard::html::number::{self, bytes_text, count_or_faint, grouped};
use crate::serve::dashboard::html::table::{Head, table};
use crate::serve::dashboard::html::tone::Tone;
use crate::serve::dashboard::html::{bar, note, parts};
use crate::serve::dashboard::view::View;

const MEMORY: &str = include_str!("../../sql/memory.sql");
/// What is used of the limit when it is time to say so.
const MUCH: f64 = 0.9;

#[derive(Debug, Deserialize)]
pub struct Used {
    database: String,
    lanes: i64,
    gates: i64,
    bytes: i64,
    bytes_limit: i64,
    lanes_outside: i64,
}

/// Of each database of the server.
pub async fn read(view: &View) -> Result<Option<Vec<Used>>, Problem> {
    if !view.can.reads("memory") {
        return Ok(None);
    }
    view.rows(MEMORY, &[]).await.map(Some)
}

fn sums(used: &[Used]) -> (i64, i64) {
    let bytes = used.iter().map(|database| database.bytes).sum();
    let limit = used.first().map_or(0, |database| database.bytes_limit);
    (bytes, limit)
}

pub fn warning(view: &View, used: Option<&[Used]>) -> Markup {
    let used = used.unwrap_or_default();
    let outside = used
        .iter()
        .find(|database| database.database == view.can.database)
        .map_or(0, |database| database.lanes_outside);
    let (bytes, limit) = sums(used);
    html! {
        @if outside > 0 {
            (note::note(
                Tone::Warn,
                &format!("{} lanes are outside memory", grouped(outside)),
                "Their jobs are found in the tables, in turn. No limit is passed, but order across lanes is weaker for them.",
                Some("Raise turnstile.max_memory and reload the configuration."),
            ))
        } @else if limit > 0 && bytes as f64 >= limit as f64 * MUCH {
            (note::note(Tone::Warn, "Memory is almost used up", "What finds no room is read from the tables.", Some("Raise turnstile.max_memory and reload the configuration.")))
        }
    }
}

pub fn shown(view: &View, used: Option<&[Used]>) -> Markup {
    let Some(used) = used else {
        return html! {};
    };
    let (bytes, limit) = sums(used);
    let size = |bytes: i64| {
        let (number, unit) = bytes_text(bytes);
        format!("{number}\u{a0}{unit}")
    };
    let heads = [
        Head::text("Database"),
        Head::number("Bytes"),
        Head::number("Of the limit"),
        Head::number("Lanes").titled(
            "Jobs that share queue, tenant, account, session, keys and priority are a lane",
        ),
        Head::number("Gates").titled("Limits that lanes or running jobs pass through"),
        Head::number("Lanes outside")
            .titled("That found no room and are read from the tables in turn"),
    ];
    let rows = used
        .iter()
        .map(|one| {
            let is_here = one.database == view.can.database;
            vec![
                html! { (parts::name(&one.database)) @if is_here && used.len() > 1 { " " span.faint { "(this one)" } } },
                number::bytes(one.bytes),
                bar::share(one.bytes, one.bytes_limit),
                number::count(one.lanes),
                number::count(one.gates),
                count_or_faint(one.lanes_outside),
            ]
        })
        .collect();
    let caption = format!(
        "{} of {} that turnstile.max_memory allows for all databases together",
        size(bytes),
        size(limit)
    );
    section(
        "Memory",
        table(
            &heads,
            rows,
            &caption,
            "The scheduler has nothing in memory.",
        ),
    )
}
