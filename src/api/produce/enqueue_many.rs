//! `enqueue_many` adds the jobs of a JSON array.

use crate::api::produce::asked_key::{Asked, UniqueKey};
use crate::api::produce::decided::decide;
use crate::api::produce::element::Element;
use crate::api::produce::enqueue_unique::{Outcome, enqueue_unique};
use crate::api::produce::new_job::{Named, NewJob, Routed, Wait};
use crate::api::produce::references::References;
use crate::api::produce::ties::{Dependency, inherit, tie, with_parent};
use crate::job::numbers::Places;
use crate::job::routes::{self, Routes};
use crate::job::values::JobValues;
use crate::pg::call::{Call, MOST_ELEMENTS, arguments, datum, must_be_writable, required};
use crate::pg::error::{Result, bad_value, too_many};
use crate::pg::jsonb::Json;
use crate::pg::output::Output;
use crate::pg::server;
use crate::pg::spi::{Spi, with_spi};
use crate::table::{self, Jobs, Operation, parents};
use crate::transaction::parent::Parent;
use pgrx::pg_sys::{self, Datum};
use std::collections::HashMap;
use std::rc::Rc;

arguments!(enqueue_many: JOBS);

/// The jobs of the elements, in their order.
type Added = Vec<(i64, Outcome)>;

pub fn enqueue_many(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    required(call.raw(enqueue_many::JOBS), "jobs")?;
    let mut output = Output::of(call);
    with_spi(|spi| {
        let elements = read(call, enqueue_many::JOBS, "jobs")?;
        for (ord, (id, outcome)) in (1_i32..).zip(add_all(spi, &elements)?) {
            output.push([datum(ord), datum(id), datum(outcome == Outcome::Added)].into_iter());
        }
        Ok(())
    })?;
    Ok(None)
}

/// The elements of an argument that is an array of jobs.
pub fn read<'c>(call: &'c Call, argument: usize, name: &str) -> Result<Vec<Element<'c>>> {
    let jobs = call.json(argument);
    let array = jobs.as_ref().and_then(Json::elements);
    if array.is_some() && jobs.as_ref().map_or(0, Json::count) > MOST_ELEMENTS {
        return Err(too_many(name, MOST_ELEMENTS));
    }
    let array = array.ok_or_else(|| {
        bad_value(format!("{name} must be an array"))
            .detail("The jsonb value is of another type.")
            .hint("Pass an array of objects whose keys are the arguments of turnstile.enqueue.")
    })?;
    (1..)
        .zip(array)
        .map(|(ord, element)| Element::read(&element, ord))
        .collect()
}

pub fn add_all(spi: &Spi, elements: &[Element]) -> Result<Added> {
    let references = References::of(elements)?;
    let parents = elements
        .iter()
        .map(|element| element.ties.lock_parent(spi))
        .collect::<Result<Vec<_>>>()?;
    let jobs = table::lock_jobs(pg_sys::RowExclusiveLock)?;
    let is_plain =
        |element: &Element| !element.is_about_a_unique_key() && !element.comes_after_others();
    match jobs.is_direct() && elements.iter().all(is_plain) {
        true => insert_all(spi, &jobs, elements, &parents),
        false => insert_each(spi, jobs.table, elements, &parents, &references),
    }
}

/// What the routes decided last: jobs that follow each other often name the same.
type Last<'a> = Option<(Named<'a>, Routed)>;

fn values_of<'a>(
    routes: &Routes,
    last: &mut Last<'a>,
    element: &Element<'a>,
    named: Named<'a>,
    parent: Option<&Parent>,
) -> Result<JobValues> {
    let asked = with_parent(element.values(), &named, element.ties.parent, parent);
    let routed = match *last {
        Some((same, routed)) if same == named => routed,
        _ => named.routed_by(routes)?,
    };
    *last = Some((named, routed));
    Ok(routed.values(&asked))
}

/// Adds the jobs, of which none has a unique key or waits for others. Ids and positions follow the array.
fn insert_all(
    spi: &Spi,
    live: &Rc<Jobs>,
    elements: &[Element],
    parents: &[Option<Rc<Parent>>],
) -> Result<Added> {
    let routes = routes::current(spi)?;
    let mut last = None;
    let jobs = (1..)
        .zip(elements.iter().zip(parents))
        .map(|(ord, (element, parent))| {
            let parent = parent.as_deref();
            let named = inherit(element.named(), parent);
            let named = named.map_err(|failure| failure.of_element(ord))?;
            values_of(&routes, &mut last, element, named, parent)
        })
        .collect::<Result<Vec<_>>>()?;
    table::command(|command| {
        let mut table = command.open(live, Operation::Insert);
        let mut added = Vec::with_capacity(jobs.len());
        let mut places = Places::of(live.table, jobs.len());
        for values in &jobs {
            let (id, position) = places.next()?;
            table.add(values.row(&live.later, id, position, server::now()))?;
            added.push((id, Outcome::Added));
        }
        table.finish()?;
        Ok(added)
    })
}

/// Adds the jobs one by one in the order of their keys, so that two calls meet at their common keys in the same
/// order: neither can wait for the other while the other waits for it.
fn insert_each(
    spi: &Spi,
    job_table: pg_sys::Oid,
    elements: &[Element],
    parents: &[Option<Rc<Parent>>],
    references: &References,
) -> Result<Added> {
    let mut places = Places::of(job_table, elements.len());
    let mut jobs = (1..)
        .zip(elements.iter().zip(parents))
        .map(|(ord, (element, parent))| {
            let job = new_job(spi, &mut places, element, parent.as_deref());
            job.map_err(|failure| failure.of_element(ord))
        })
        .collect::<Result<Vec<_>>>()?;
    jobs.sort_by(|(a, key_a), (b, key_b)| {
        let key = |key: &Option<UniqueKey>| key.as_ref().map(|unique| unique.key.clone());
        (a.tenant, key(key_a), a.place).cmp(&(b.tenant, key(key_b), b.place))
    });
    let mut results = Vec::with_capacity(jobs.len());
    for (job, unique) in &jobs {
        let (id, outcome) = enqueue_unique(spi, job, unique.as_ref())?;
        results.push((job.place, id, outcome));
    }
    results.sort_unstable_by_key(|&(place, ..)| place);
    let added: Added = (results.into_iter())
        .map(|(_, id, outcome)| (id, outcome))
        .collect();
    tie(spi, &dependencies(elements, references, &added))?;
    check_lines(spi, elements, parents, &added)?;
    Ok(added)
}

/// A child must not come, after others of the array, after a job that waits for it.
fn check_lines(
    spi: &Spi,
    elements: &[Element],
    parents: &[Option<Rc<Parent>>],
    added: &Added,
) -> Result<()> {
    for ((element, parent), &(id, outcome)) in elements.iter().zip(parents).zip(added) {
        if let Some(parent) = parent.as_ref().filter(|_| outcome != Outcome::Found)
            && !element.after_refs.is_empty()
        {
            parents::check_line(spi, &[id], &parent.line)?;
        }
    }
    Ok(())
}

/// What the jobs that are as they were asked for come after.
fn dependencies(elements: &[Element], references: &References, added: &Added) -> Vec<Dependency> {
    let mut found = Vec::new();
    // A job that was replaced within the array is as the last element says.
    let asked = || {
        added
            .iter()
            .enumerate()
            .filter(|(_, (_, outcome))| *outcome != Outcome::Found)
    };
    let last: HashMap<i64, usize> = asked().map(|(place, &(job, _))| (job, place)).collect();
    for (place, &(job, outcome)) in asked() {
        let Some(element) = elements
            .get(place)
            .filter(|_| last.get(&job) == Some(&place))
        else {
            continue;
        };
        let others = element.after_refs.iter();
        let others = others.filter_map(|name| added.get(references.place_of(name)?));
        let others = others.map(|&(id, _)| id).filter(|&id| id != job);
        found.extend(
            (element.ties.after.iter().copied().chain(others)).map(|predecessor| Dependency {
                job,
                predecessor,
                any_end: element.ties.any_end,
                holds: element.ties.holds,
                is_of_replaced: outcome == Outcome::Replaced,
            }),
        );
    }
    found
}

fn new_job<'j>(
    spi: &Spi,
    places: &mut Places,
    element: &Element<'j>,
    parent: Option<&'j Parent>,
) -> Result<(NewJob<'j>, Option<UniqueKey>)> {
    element.ties.check_predecessors(spi, parent)?;
    let unique = Asked {
        key: element.unique_key,
        mode: element.unique_mode,
        states: element.unique_states.clone(),
        window: element.unique_for,
        by: element.unique_by.clone().and_then(datum),
        by_names: element.unique_by.clone(),
    };
    let (asked, of_parent) = (
        (element.named(), element.values()),
        (element.ties.parent, parent),
    );
    let decided = decide(spi, asked, &unique, of_parent)?;
    let job = NewJob {
        values: decided.values,
        tenant: decided.tenant,
        place: Some(places.next()?),
        wait: Wait {
            is_blocked: decided.values.is_blocked || element.comes_after_others(),
            opens_batch: false,
        },
    };
    Ok((job, decided.unique))
}
