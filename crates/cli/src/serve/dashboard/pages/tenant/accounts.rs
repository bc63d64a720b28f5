//! The accounts of a tenant, and the limits of the one that was chosen.

use maud::{Markup, html};

use crate::listener::Problem;
use crate::serve::dashboard::html::layout::{section, section_with};
use crate::serve::dashboard::html::number::{self, count_or_faint};
use crate::serve::dashboard::html::table::{Head, pairs, table};
use crate::serve::dashboard::html::tone::Tone;
use crate::serve::dashboard::html::{bar, form};
use crate::serve::dashboard::pages::parts::gate::{Gate, limit, rate};
use crate::serve::dashboard::pages::parts::limits::Limits;
use crate::serve::dashboard::pages::parts::listing::MOST;
use crate::serve::dashboard::pages::parts::{levers, links};
use crate::serve::dashboard::value::Value;
use crate::serve::dashboard::view::View;

const ACCOUNTS: &str = include_str!("../../sql/accounts.sql");
const SETTING: &str = include_str!("../../sql/account_setting.sql");

pub async fn read(view: &View, tenant: &str) -> Result<Vec<Gate>, Problem> {
    let arguments = [
        Value::from(tenant),
        Value::from(None::<&str>),
        Value::from(MOST),
    ];
    view.rows(ACCOUNTS, &arguments).await
}

pub async fn chosen(
    view: &View,
    tenant: &str,
    account: Option<&str>,
) -> Result<Option<(Gate, Limits)>, Problem> {
    let Some(account) = account else {
        return Ok(None);
    };
    let arguments = [
        Value::from(tenant),
        Value::from(account),
        Value::from(1_i64),
    ];
    let Some(gate): Option<Gate> = view.row(ACCOUNTS, &arguments).await? else {
        return Ok(None);
    };
    let limits: Option<Limits> =
        match view.can.reads("account") && view.can.reads("account_in_force") {
            true => {
                let names = [Value::from(tenant), Value::from(account)];
                view.row(SETTING, &names).await?
            }
            false => None,
        };
    let limits = limits.unwrap_or_else(|| Limits::in_force(&gate));
    Ok(Some((gate, limits)))
}

pub fn shown(view: &View, tenant: &str, accounts: &[Gate]) -> Markup {
    let heads = [
        Head::text("Account"),
        Head::number("Running"),
        Head::number("Waiting"),
        Head::number("Oldest").titled("How long the first of those that wait has been due"),
        Head::number("Later").titled("Scheduled, retryable and blocked jobs"),
        Head::number("Started").titled("In the last minute"),
        Head::number("Finished").titled("In the last minute"),
        Head::text("Rate"),
    ];
    let rows = accounts
        .iter()
        .map(|account| row(view, tenant, account))
        .collect();
    let matching = accounts.first().map_or(0, |account| account.matching);
    let caption = if matching > MOST {
        format!(
            "The first {MOST} of {} accounts, those with the most work first",
            number::grouped(matching)
        )
    } else {
        "Parts of the tenant with limits of their own, those with the most work first".to_owned()
    };
    section(
        "Accounts",
        table(
            &heads,
            rows,
            &caption,
            "No job of the tenant has an account.",
        ),
    )
}

fn row(view: &View, tenant: &str, account: &Gate) -> Vec<Markup> {
    let name = account.name.as_str();
    let of_state = |count, state| {
        links::jobs(
            view,
            count,
            &[("tenant", tenant), ("account", name), ("state", state)],
        )
    };
    vec![
        account.named(view, links::account(view, tenant, name)),
        bar::used(account.running, account.slots),
        of_state(account.waiting, "available"),
        account.oldest(),
        count_or_faint(account.scheduled + account.retryable + account.blocked),
        number::rate(account.claimed_per_minute as f64),
        number::rate(account.finished_per_minute as f64),
        rate(account),
    ]
}

/// One account with its levers.
pub fn opened(view: &View, tenant: &str, chosen: Option<&(Gate, Limits)>) -> Markup {
    let Some((account, limits)) = chosen else {
        return html! {};
    };
    let names = [("tenant", tenant), ("account", account.name.as_str())];
    let levers = html! {
        div.actions {
            (account.state_beside(view))
            (levers::switch(view, &levers::ACCOUNT, account, &names))
        }
    };
    let limits = if view.may("set_account") {
        let fields = html! {
            (limits.slots("slots"))
            (limits.rate())
        };
        let action = levers::action(view, "/account", "limits");
        form::post(&action, fields, &names, "Set limits", Tone::Info)
    } else {
        pairs(&[
            ("Run at once", limit(account.slots)),
            ("Start at most", rate(account)),
        ])
    };
    html! {
        div id="account" {
            (section_with(&format!("Account {}", account.name), levers, limits))
        }
    }
}
