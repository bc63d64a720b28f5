//! What has failed, by kind and first line of the error: jobs that were discarded, and runs that will be repeated.

use maud::{Markup, html};

use super::parts::links;
use crate::listener::Problem;
use crate::serve::dashboard::content::Content;
use crate::serve::dashboard::data::failures::{self, Discarded, Group};
use crate::serve::dashboard::html::number::grouped;
use crate::serve::dashboard::html::table::{Head, table};
use crate::serve::dashboard::html::{form, layout, number, parts, time, tone::Tone};
use crate::serve::dashboard::view::View;

/// Groups of a table.
const MOST: usize = 100;
/// Names of queues or tenants in a cell.
const NAMES: usize = 5;
const KIND: usize = 48;
const LINE: usize = 160;

pub async fn draw(view: View) -> Result<Content, Problem> {
    let (discarded, failing) =
        tokio::try_join!(failures::discarded(&view), failures::failing(&view))?;
    let heading = layout::heading(
        html! { "Failures" },
        html! {},
        html! {
            a href=(view.link("/jobs").with("state", "discarded").text()) { "All discarded jobs" }
        },
    );
    Ok(Content::new("Failures")
        .still("head", heading)
        .live("discarded", of_discarded(&view, &discarded))
        .live(
            "failing",
            failing.map_or_else(|| html! {}, |groups| of_failing(&view, &groups)),
        ))
}

fn of_discarded(view: &View, discarded: &Discarded) -> Markup {
    let ways = Ways {
        state: "discarded",
        retry: Some("Retry the whole kind…"),
    };
    let caption = caption(view, discarded);
    layout::section(
        "Failed for good",
        listed(
            view,
            &discarded.groups,
            &ways,
            &caption,
            "No job was discarded, as far as was looked back.",
        ),
    )
}

fn caption(view: &View, discarded: &Discarded) -> String {
    let since = match discarded.since {
        None => "the whole history".to_owned(),
        Some(at) => format!(
            "the last {}",
            time::span_text((view.now() - at).max(0.0).round())
        ),
    };
    let jobs: i64 = discarded.groups.iter().map(|group| group.jobs).sum();
    let jobs = match jobs {
        1 => "1 job".to_owned(),
        _ => format!("{} jobs", grouped(jobs)),
    };
    let looked_at = if discarded.is_sample {
        format!("A sample of {jobs}: more were discarded in {since} than are looked at")
    } else {
        format!("{jobs} that were discarded in {since}, and not brought back since")
    };
    let shown = shown(&discarded.groups);
    format!("{looked_at}; what most have failed with is first{shown}")
}

fn of_failing(view: &View, groups: &[Group]) -> Markup {
    let ways = Ways {
        state: "retryable",
        retry: None,
    };
    let caption = format!(
        "Of the last 512 failed runs that the server remembers; what most have failed with is first{}",
        shown(groups)
    );
    layout::section(
        "Failed, and will be repeated",
        listed(
            view,
            groups,
            &ways,
            &caption,
            "No run has failed since the server was started.",
        ),
    )
}

fn shown(groups: &[Group]) -> String {
    if groups.len() > MOST {
        format!(
            "; {MOST} of {} groups are shown",
            grouped(groups.len() as i64)
        )
    } else {
        String::new()
    }
}

/// Where rows lead.
struct Ways {
    state: &'static str,
    retry: Option<&'static str>,
}

fn listed(view: &View, groups: &[Group], ways: &Ways, caption: &str, empty: &str) -> Markup {
    let has_lines = groups.iter().any(|group| group.line.is_some());
    let retry = ways.retry.filter(|_| view.may("retry_many"));
    let mut heads = vec![Head::text("Kind")];
    if has_lines {
        heads.push(Head::text("Error").titled("Its first line, with # for long numbers"));
    }
    heads.extend([
        Head::number("Jobs"),
        Head::text("Last"),
        Head::text("Queues"),
        Head::text("Tenants"),
        Head::text("Example"),
    ]);
    if retry.is_some() {
        heads.push(Head::actions());
    }
    let rows = groups
        .iter()
        .take(MOST)
        .map(|group| {
            let link = |path: &str| {
                view.link(path)
                    .with("kind", &group.kind)
                    .with("state", ways.state)
            };
            let mut cells =
                vec![html! { a href=(link("/jobs").text()) { (parts::cut(&group.kind, KIND)) } }];
            if has_lines {
                cells.push(number::or_none(group.line.as_deref(), |line| {
                    parts::cut(line, LINE)
                }));
            }
            cells.extend([
                number::count(group.jobs),
                time::ago(Some(group.last_at), view.now()),
                names(&group.queues, |name| links::queue(view, name)),
                names(&group.tenants, |name| links::tenant(view, name)),
                links::job(view, group.example),
            ]);
            if let Some(label) = retry {
                let href = link("/jobs/change").with("deed", "retry").text();
                cells.push(form::link_button(&href, label, Tone::Plain));
            }
            cells
        })
        .collect();
    table(&heads, rows, caption, empty)
}

/// The first of them. The statements give one more.
fn names(names: &[String], link: impl Fn(&str) -> Markup) -> Markup {
    if names.is_empty() {
        return number::none();
    }
    html! {
        @for (at, name) in names.iter().take(NAMES).enumerate() {
            @if at > 0 { ", " }
            (link(name))
        }
        @if names.len() > NAMES { ", …" }
    }
}
