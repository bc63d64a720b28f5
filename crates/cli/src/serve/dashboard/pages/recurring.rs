//! Recurring jobs: what enqueues itself, and when it last did.

use maud::{Markup, html};
use serde::Deserialize;

use super::parts::listing::Listing;
use super::parts::{empty, links};
use crate::listener::Problem;
use crate::serve::dashboard::content::Content;
use crate::serve::dashboard::html::icon::Icon;
use crate::serve::dashboard::html::table::{Head, table};
use crate::serve::dashboard::html::tone::Tone;
use crate::serve::dashboard::html::{badge, layout, note, parts, time};
use crate::serve::dashboard::view::View;

const RECURRING: &str = include_str!("../sql/recurring.sql");
const PATH: &str = "/recurring";

#[derive(Debug, Deserialize)]
struct Recurring {
    name: String,
    cron: String,
    active: bool,
    kind: String,
    queue: Option<String>,
    tenant: Option<String>,
    time_zone: Option<String>,
    next_firing: Option<f64>,
    last_error: Option<String>,
    last_firing: Option<f64>,
    last_job_id: Option<i64>,
    owner: String,
    matching: i64,
}

pub async fn draw(view: View) -> Result<Content, Problem> {
    let content = Content::new("Recurring jobs").still(
        "head",
        layout::heading(html! { "Recurring jobs" }, html! {}, html! {}),
    );
    if view.can.version.is_none() {
        return Ok(content.still("empty", empty::not_installed(&view)));
    }
    if !view.can.reads("recurring_jobs") {
        return Ok(content.still("rights", rights(&view)));
    }
    let listing = Listing::of(&view)?;
    let jobs: Vec<Recurring> = view
        .rows(RECURRING, &[listing.part(), Listing::most()])
        .await?;
    let matching = jobs.first().map_or(0, |job| job.matching);
    let list = html! {
        (recurring_table(&view, &listing, &jobs))
        (listing.rest(matching, "recurring jobs"))
    };
    Ok(content
        .still("filter", listing.filter(&view, PATH, "Name, kind or queue"))
        .live("recurring", list))
}

fn rights(view: &View) -> Markup {
    let role = &view.can.role;
    let text = format!("The role {role} may not read the view turnstile.recurring_jobs.");
    note::with(
        Tone::Info,
        "Recurring jobs are not for this role",
        &text,
        Some("The owner of the extension can allow it. The view shows payloads, too:"),
        html! {
            pre { "GRANT SELECT ON turnstile.recurring_jobs TO …;" }
        },
    )
}

fn recurring_table(view: &View, listing: &Listing, jobs: &[Recurring]) -> Markup {
    let heads = [
        Head::text("Name"),
        Head::text("State"),
        Head::text("Schedule").titled(
            "Minute, hour, day of month, month, day of week, and the time zone if it is not UTC",
        ),
        Head::text("Kind"),
        Head::text("Queue"),
        Head::text("Tenant"),
        Head::number("Next firing"),
        Head::number("Last firing"),
        Head::number("Its job"),
        Head::text("Owner").titled("The role with whose rights it enqueues"),
    ];
    let rows = jobs.iter().map(|job| row(view, job)).collect();
    let matching = jobs.first().map_or(0, |job| job.matching);
    let told = listing.told(matching, "recurring job", "recurring jobs");
    let empty = listing.empty("No job recurs. turnstile.schedule() makes one that does.");
    table(
        &heads,
        rows,
        &format!("{told}, those that are off first"),
        &empty,
    )
}

fn row(view: &View, job: &Recurring) -> Vec<Markup> {
    vec![
        parts::name(&job.name),
        state(job),
        html! {
            (parts::mono(&job.cron))
            @if let Some(zone) = &job.time_zone { " " span.faint { (zone) } }
        },
        parts::name(&job.kind),
        match job.queue.as_deref() {
            Some(queue) => links::queue(view, queue),
            None => html! { span.faint { "by its kind" } },
        },
        links::tenant_or_none(view, job.tenant.as_deref()),
        match job.next_firing {
            Some(at) => time::ago(Some(at), view.now()),
            None => html! { span.none { "none" } },
        },
        match job.last_firing {
            Some(at) => time::ago(Some(at), view.now()),
            None => html! { span.none { "not yet" } },
        },
        links::job_or_none(view, job.last_job_id),
        parts::name(&job.owner),
    ]
}

fn state(job: &Recurring) -> Markup {
    match (&job.last_error, job.active) {
        (Some(why), _) => html! {
            span title=(why) { (badge::shaped(Icon::Cross, Tone::Bad, "failed")) }
        },
        (None, true) => badge::tone(Tone::Good, "active"),
        (None, false) => badge::shaped(Icon::Barred, Tone::Warn, "paused"),
    }
}
