//! `enqueue_many` adds the jobs of a JSON array.

use crate::api::produce::element::Element;
use crate::api::produce::enqueue::next_place;
use crate::api::produce::enqueue_unique::enqueue_unique;
use crate::api::produce::new_job::{Asked, NewJob, UniqueKey};
use crate::job::routes;
use crate::job::unique::Mode;
use crate::pg::call::{Call, MOST_ELEMENTS, arguments, datum, must_be_writable, required};
use crate::pg::error::{Result, bad_value, too_many};
use crate::pg::jsonb::Json;
use crate::pg::output::Output;
use crate::pg::server;
use crate::pg::spi::{Spi, with_spi};
use crate::table::{self, Jobs, Operation};
use pgrx::pg_sys::{self, Datum};
use std::rc::Rc;

arguments!(enqueue_many: JOBS);

pub fn enqueue_many(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    required(call.raw(enqueue_many::JOBS), "jobs")?;
    let mut output = Output::of(call);
    with_spi(|spi| {
        let elements = read(call)?;
        let jobs = table::lock_jobs(pg_sys::RowExclusiveLock)?;
        match jobs.is_direct() && !elements.iter().any(Element::is_about_a_unique_key) {
            true => insert_all(spi, &jobs, &elements, &mut output),
            false => insert_each(spi, &elements, &mut output),
        }
    })?;
    Ok(None)
}

fn read(call: &Call) -> Result<Vec<Element<'_>>> {
    let jobs = call.json(enqueue_many::JOBS);
    let array = jobs.as_ref().and_then(Json::elements);
    if array.is_some() && jobs.as_ref().map_or(0, Json::count) > MOST_ELEMENTS {
        return Err(too_many("jobs", MOST_ELEMENTS));
    }
    let array = array.ok_or_else(|| {
        bad_value("jobs must be an array")
            .detail("The jsonb value is of another type.")
            .hint("Pass an array of objects whose keys are the arguments of turnstile.enqueue.")
    })?;
    (1..)
        .zip(array)
        .map(|(ord, element)| Element::read(&element, ord))
        .collect()
}

/// Adds the jobs, of which none has a unique key. Ids and positions follow the array.
fn insert_all(spi: &Spi, live: &Rc<Jobs>, elements: &[Element], output: &mut Output) -> Result<()> {
    let routes = routes::current(spi)?;
    let jobs = elements
        .iter()
        .map(|element| element.named().routed_by(spi, &routes, &element.values()))
        .collect::<Result<Vec<_>>>()?;
    table::command(|command| {
        let mut table = command.open(live, Operation::Insert);
        for (ord, values) in (1_i32..).zip(&jobs) {
            let (id, position) = next_place()?;
            table.add(values.row(id, position, server::now()))?;
            output.push([datum(ord), datum(id), datum(true)].into_iter());
        }
        table.finish()
    })
}

/// Adds the jobs one by one in the order of their keys, so that two calls meet at their common keys in the same
/// order: neither can wait for the other while the other waits for it.
fn insert_each(spi: &Spi, elements: &[Element], output: &mut Output) -> Result<()> {
    let mut jobs = (1..)
        .zip(elements)
        .map(|(ord, element)| new_job(spi, element).map_err(|failure| failure.of_element(ord)))
        .collect::<Result<Vec<_>>>()?;
    jobs.sort_by(|(a, key_a), (b, key_b)| {
        let key = |key: &Option<UniqueKey>| key.as_ref().map(|unique| unique.key.clone());
        (a.tenant, key(key_a), a.position).cmp(&(b.tenant, key(key_b), b.position))
    });
    let mut results = Vec::with_capacity(jobs.len());
    for (job, unique) in &jobs {
        let (id, created) = enqueue_unique(spi, job, unique.as_ref())?;
        results.push((job.position, id, created));
    }
    results.sort_unstable();
    for (ord, (_, id, created)) in (1_i32..).zip(results) {
        output.push([datum(ord), datum(id), datum(created)].into_iter());
    }
    Ok(())
}

fn new_job<'j>(spi: &Spi, element: &Element<'j>) -> Result<(NewJob<'j>, Option<UniqueKey>)> {
    let asked = element.values();
    let unique = Asked {
        key: element.unique_key,
        mode: element.unique_mode.unwrap_or(Mode::UntilExecuted.name()),
        window: element.unique_for,
        by: element.unique_by.clone().and_then(datum),
        by_names: element.unique_by.clone(),
    };
    let unique = unique.unique_key(spi, &asked)?;
    let (id, position) = next_place()?;
    let job = NewJob {
        values: element.named().routed(spi, &asked)?,
        tenant: element.tenant,
        id: Some(id),
        position: Some(position),
    };
    Ok((job, unique))
}
