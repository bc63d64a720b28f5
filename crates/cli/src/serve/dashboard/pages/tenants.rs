//! All tenants, the noisy ones first.

use maud::{Markup, html};

use super::parts::gate::Gate;
use super::parts::gate_list::{self, Heads, List, matching};
use super::parts::links;
use super::parts::listing::Listing;
use crate::listener::Problem;
use crate::serve::dashboard::content::Content;
use crate::serve::dashboard::html::table::{Head, table};
use crate::serve::dashboard::html::tone::Tone;
use crate::serve::dashboard::html::{badge, bar};
use crate::serve::dashboard::view::View;

const TENANTS: &str = include_str!("../sql/tenants.sql");
const PATH: &str = "/tenants";

/// A tenant is noisy that has so many times what each would have if all had the same, and so much of all.
const TIMES: f64 = 3.0;
const LEAST: f64 = 0.15;
/// Of so much it is noisy however few there are, if it has more than the others.
const MUCH: f64 = 0.4;
const MORE: f64 = 1.5;
/// Of fewer jobs shares say nothing.
const JOBS: i64 = 20;

pub async fn draw(view: View) -> Result<Content, Problem> {
    let listing = Listing::of(&view)?;
    let arguments = [listing.part(), Listing::most(), listing.order()];
    let tenants: Vec<Gate> = view.rows(TENANTS, &arguments).await?;
    let table = tenant_table(&view, &listing, &tenants);
    let list = List {
        title: "Tenants",
        path: PATH,
        searched: "Name",
        defaults: ("/tenant", "tenant"),
        many: "tenants",
    };
    Ok(list.page(&view, &listing, &tenants, table))
}

fn tenant_table(view: &View, listing: &Listing, tenants: &[Gate]) -> Markup {
    let heads = Heads::new(view, listing, PATH);
    let [started, finished] = heads.pace();
    let [wait, failed] = heads.statistics();
    let shares = Head::number("Of all running").titled("Its share of all jobs that run");
    let all = [
        heads.sorted(Head::text("Tenant"), "name"),
        heads.number("Running", "running"),
        heads.sorted(shares, ""),
        heads.number("Waiting", "waiting"),
        Head::number("Of all waiting").titled("Its share of all jobs that wait"),
        heads.oldest(),
        heads.later(),
        started,
        finished,
        wait,
        failed,
    ];
    let rows = tenants.iter().map(|tenant| row(view, tenant)).collect();
    let told = listing.told(matching(tenants), "tenant", "tenants");
    let caption = listing.ordered(
        &told,
        "the noisy ones first: by their shares of what runs and of what waits",
    );
    table(
        &all,
        rows,
        &caption,
        &listing.empty("No job has a tenant yet."),
    )
}

fn row(view: &View, tenant: &Gate) -> Vec<Markup> {
    let name = tenant.name.as_str();
    let of_state = |count, state| links::jobs(view, count, &[("tenant", name), ("state", state)]);
    let [started, finished] = gate_list::pace(tenant);
    let [wait, failed] = gate_list::statistics(tenant);
    vec![
        html! {
            (tenant.named(view, links::tenant(view, name)))
            @if is_noisy(tenant) { " " (badge::tone(Tone::Warn, "noisy")) }
        },
        bar::used(tenant.running, tenant.slots),
        share(tenant.running, tenant.all_running),
        of_state(tenant.waiting, "available"),
        share(tenant.waiting, tenant.all_waiting),
        tenant.oldest(),
        gate_list::later(tenant),
        started,
        finished,
        wait,
        failed,
    ]
}

/// A bar of nothing says no more than its number.
fn share(part: i64, whole: i64) -> Markup {
    if part == 0 {
        return html! { span.none { "0%" } };
    }
    bar::share(part, whole)
}

/// Takes far more than others, of what runs or of what waits.
fn is_noisy(tenant: &Gate) -> bool {
    let even = 1.0 / tenant.active.max(1) as f64;
    let least = (TIMES * even).clamp(LEAST, MUCH).max(MORE * even);
    let takes = |part: i64, whole: i64| whole >= JOBS && part as f64 / whole as f64 >= least;
    takes(tenant.running, tenant.all_running) || takes(tenant.waiting, tenant.all_waiting)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noisy_is_who_takes_far_more_than_others() {
        let tenant = |active, waiting| Gate {
            active,
            waiting,
            all_waiting: 100,
            all_running: 10,
            ..Gate::default()
        };
        assert!(is_noisy(&tenant(100, 15)));
        assert!(!is_noisy(&tenant(100, 14)));
        assert!(is_noisy(&tenant(6, 40)) && !is_noisy(&tenant(6, 39)));
        assert!(is_noisy(&tenant(2, 75)) && !is_noisy(&tenant(2, 74)));
        assert!(!is_noisy(&tenant(1, 100)));
        let of_few = Gate {
            all_waiting: 10,
            ..tenant(100, 10)
        };
        assert!(!is_noisy(&of_few));
    }
}
