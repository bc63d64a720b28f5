//! Recurring jobs: what enqueues itself, and when it last did.

use maud::{Markup, html};
use serde::Deserialize;

use super::Content;
use super::parts::listing::Listing;
use super::parts::{empty, links};
use crate::listener::Problem;
use crate::serve::dashboard::html::icon::Icon;
use crate::serve::dashboard::html::table::{Head, table};
use crate::serve::dashboard::html::tone::Tone;
use crate::serve::dashboard::html::{badge, layout, note, parts, time};
use crate::serve::dashboard::view::View;

const RECURRING: &str = include_str!("../sql/recurring.sql");
const HAS_CRON: &str = include_str!("../sql/cron.sql");
const PATH: &str = "/recurring";

#[derive(Debug, Deserialize)]
struct Recurring {
    name: String,
    cron: String,
    active: bool,
    kind: String,
    queue: Option<String>,
    tenant: Option<String>,
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
    // The view calls the function with the rights of who reads it.
    if !view.can.reads("recurring_jobs") || !view.can.calls("cron_entries") {
        return Ok(content.still("rights", rights(&view)));
    }
    let listing = Listing::of(&view)?;
    let has_cron: Option<bool> = view.row(HAS_CRON, &[]).await?;
    let jobs: Vec<Recurring> = view
        .rows(RECURRING, &[listing.part(), Listing::most()])
        .await?;
    let matching = jobs.first().map_or(0, |job| job.matching);
    let list = html! {
        (without_cron(has_cron == Some(true), !jobs.is_empty()))
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
            pre {
                "GRANT SELECT ON turnstile.recurring_jobs TO …;\n"
                "GRANT EXECUTE ON FUNCTION turnstile.cron_entries() TO …;"
            }
        },
    )
}

fn without_cron(has_cron: bool, has_jobs: bool) -> Markup {
    if has_cron {
        return html! {};
    }
    let (tone, title) = if has_jobs {
        (Tone::Bad, "Nothing fires: pg_cron is not in this database")
    } else {
        (Tone::Info, "pg_cron is not in this database")
    };
    note::note(
        tone,
        title,
        "Recurring jobs are fired by the extension pg_cron, which lives in the database that cron.database_name names.",
        Some(
            "Add pg_cron to shared_preload_libraries, restart the server, and run CREATE EXTENSION pg_cron. Recurring jobs then have to be scheduled anew.",
        ),
    )
}

fn recurring_table(view: &View, listing: &Listing, jobs: &[Recurring]) -> Markup {
    let heads = [
        Head::text("Name"),
        Head::text("State"),
        Head::text("Schedule").titled("Minute, hour, day of month, month, day of week, as pg_cron has it; in its time zone, which is UTC unless cron.timezone says otherwise"),
        Head::text("Kind"),
        Head::text("Queue"),
        Head::text("Tenant"),
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
        if job.active {
            badge::tone(Tone::Good, "active")
        } else {
            badge::shaped(Icon::Barred, Tone::Warn, "off")
        },
        parts::mono(&job.cron),
        parts::name(&job.kind),
        match job.queue.as_deref() {
            Some(queue) => links::queue(view, queue),
            None => html! { span.faint { "by its kind" } },
        },
        links::tenant_or_none(view, job.tenant.as_deref()),
        match job.last_firing {
            Some(at) => time::ago(Some(at), view.now()),
            None => html! { span.none { "not yet" } },
        },
        links::job_or_none(view, job.last_job_id),
        parts::name(&job.owner),
    ]
}
