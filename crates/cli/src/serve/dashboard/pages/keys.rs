//! Concurrency keys: limits over all queues and tenants. One that was chosen shows its levers.

use maud::{Markup, html};
use serde::Deserialize;

use super::parts::gate::{Gate, limit, rate};
use super::parts::gate_list::{self, Heads, List, matching};
use super::parts::limits::{self, Limits};
use super::parts::listing::{Listing, MOST};
use super::parts::{figures, levers, links};
use crate::listener::Problem;
use crate::serve::dashboard::content::Content;
use crate::serve::dashboard::html::number::count_or_faint;
use crate::serve::dashboard::html::table::{self, Head};
use crate::serve::dashboard::html::tone::Tone;
use crate::serve::dashboard::html::{bar, form, layout, note, parts};
use crate::serve::dashboard::value::Value;
use crate::serve::dashboard::view::View;

const KEYS: &str = include_str!("../sql/keys.sql");
const SETTING: &str = include_str!("../sql/key_setting.sql");
const PATH: &str = "/keys";

#[derive(Debug, Deserialize)]
struct Asked {
    name: Option<String>,
}

pub async fn draw(view: View) -> Result<Content, Problem> {
    match view.query()? {
        Asked { name: Some(name) } if !name.is_empty() => one(view, &name).await,
        _ => all(view).await,
    }
}

async fn read(view: &View, listing: &Listing, one: Option<&str>) -> Result<Vec<Gate>, Problem> {
    let arguments = [
        listing.part(),
        Value::from(one),
        Value::from(MOST),
        listing.order(),
    ];
    view.rows(KEYS, &arguments).await
}

async fn all(view: View) -> Result<Content, Problem> {
    let listing = Listing::of(&view)?;
    let keys = read(&view, &listing, None).await?;
    let table = key_table(&view, &listing, &keys);
    let list = List {
        title: "Concurrency keys",
        path: PATH,
        searched: "Key",
        defaults: (PATH, "concurrency"),
        many: "keys",
    };
    Ok(list.page(&view, &listing, &keys, table))
}

fn key_table(view: &View, listing: &Listing, keys: &[Gate]) -> Markup {
    let heads = Heads::new(view, listing, PATH);
    let [started, finished] = heads.pace();
    let all = [
        heads.sorted(Head::text("Key"), "name"),
        heads.number("Running", "running"),
        heads.number("Waiting", "waiting"),
        heads.oldest(),
        heads.later(),
        started,
        finished,
        Head::text("Rate"),
    ];
    let rows = keys.iter().map(|key| row(view, key)).collect();
    let told = listing.told(matching(keys), "key", "keys");
    let caption =
        format!("{told}: jobs that share a key share its limits, over all queues and tenants");
    let empty = listing.empty("No job has a concurrency key.");
    table::table(&all, rows, &caption, &empty)
}

fn row(view: &View, key: &Gate) -> Vec<Markup> {
    let [started, finished] = gate_list::pace(key);
    vec![
        key.named(view, links::key(view, &key.name)),
        bar::used(key.running, key.slots),
        count_or_faint(key.waiting),
        key.oldest(),
        gate_list::later(key),
        started,
        finished,
        rate(key),
    ]
}

/// The limits that are set: those in force are smaller while the key is on trial.
#[derive(Debug, Deserialize)]
struct Setting {
    is_own: bool,
    #[serde(flatten)]
    gate: Gate,
    limits: Limits,
}

/// Nothing where the viewer may not know.
async fn setting(view: &View, name: &str) -> Result<Option<Setting>, Problem> {
    if !view.can.reads("concurrency") || !view.can.reads("concurrency_in_force") {
        return Ok(None);
    }
    view.row(SETTING, &[Value::from(name)]).await
}

async fn one(view: View, name: &str) -> Result<Content, Problem> {
    let setting = setting(&view, name).await?;
    if name == limits::DEFAULTS {
        return defaults(&view, setting);
    }
    let found = read(&view, &Listing::default(), Some(name)).await?;
    let is_known = !found.is_empty();
    let key = found.into_iter().next().unwrap_or_else(|| Gate {
        name: name.to_owned(),
        ..Gate::default()
    });
    Ok(Content::new(format!("Key {name}"))
        .still("trail", trail(&view))
        .live("head", head(&view, &key))
        .live("figures", html! {
            // The list of jobs has no filter by key.
            @if is_known { (figures::tiles(&view, &key, None)) }
            @else { (note::empty("No live job has this key, and it has no limits of its own.")) }
            (trial(&key))
        })
        .still("limits", limits_shown(&view, &key, setting)))
}

fn defaults(view: &View, setting: Option<Setting>) -> Result<Content, Problem> {
    let setting = setting.ok_or_else(|| {
        Problem::not_found("This role may not read the defaults of concurrency keys.")
    })?;
    let key = Gate {
        name: limits::DEFAULTS.to_owned(),
        ..Gate::default()
    };
    Ok(Content::new("Defaults of concurrency keys")
        .still("trail", trail(view))
        .still(
            "head",
            layout::heading(html! { "Defaults of concurrency keys" }, html! {}, html! {}),
        )
        .still("about", limits::about_defaults("keys", "key"))
        .still("limits", limits_shown(view, &key, Some(setting))))
}

fn trail(view: &View) -> Markup {
    layout::trail(&[(&view.link(PATH).text(), "Concurrency keys")])
}

fn head(view: &View, key: &Gate) -> Markup {
    let name = [("key", key.name.as_str())];
    layout::heading(
        html! { "Key " (parts::name(&key.name)) },
        key.state_beside(view),
        levers::switch(view, &levers::KEY, key, &name),
    )
}

fn trial(key: &Gate) -> Markup {
    if !key.one_at_a_time {
        return html! {};
    }
    note::note(
        Tone::Warn,
        "On trial",
        "Calls to this host failed. One job of the key runs at a time until one succeeds; then all its slots are open again.",
        Some("Resume ends the trial at once."),
    )
}

fn limits_shown(view: &View, key: &Gate, setting: Option<Setting>) -> Markup {
    let is_own = setting.as_ref().map(|setting| setting.is_own);
    let is_default = key.name == limits::DEFAULTS;
    let origin = limits::origin(view, PATH, is_own.filter(|_| !is_default));
    let content = match setting {
        Some(setting) if view.may("set_concurrency") => edited(view, &key.name, &setting.limits),
        Some(setting) => pairs(&setting.gate),
        None => pairs(key),
    };
    layout::section_with("Limits over all queues and tenants", origin, content)
}

fn pairs(limits: &Gate) -> Markup {
    table::pairs(&[
        ("Run at once", limit(limits.slots)),
        ("Start at most", rate(limits)),
    ])
}

fn edited(view: &View, name: &str, limits: &Limits) -> Markup {
    let fields = html! {
        (limits.slots("slots"))
        (limits.rate())
    };
    let action = levers::action(view, "/key", "limits");
    form::post(&action, fields, &[("key", name)], "Set limits", Tone::Info)
}
