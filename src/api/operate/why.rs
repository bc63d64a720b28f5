//! `why_waiting`, of one job or many, its summary, and `wait_estimate`.

use crate::api::arguments::{job, job_ids, name};
use crate::job::lane::{EVERY_QUEUE, claimed_key, tenant_key};
use crate::outlook::circle::Search;
use crate::outlook::job::Waiting;
use crate::outlook::why::{Blocker, name_of};
use crate::outlook::{estimate, summary, why};
use crate::permission;
use crate::pg::call::{Call, arguments, datum};
use crate::pg::error::{Failure, Result, internal, on_standby};
use crate::pg::output::Output;
use crate::pg::spi::{Spi, with_spi};
use crate::pg::{catalog, server};
use pgrx::AnyNumeric;
use pgrx::pg_sys::Datum;
use std::iter;
use turnstile_scheduler::GateKind;

arguments!(why_waiting_many: JOB_IDS);
arguments!(why_waiting_summary: QUEUE, TENANT);

pub fn why_waiting(call: &Call) -> Result<Option<Datum>> {
    must_have_memory()?;
    let job_id = job(call)?;
    let mut output = Output::of(call);
    with_spi(|spi| {
        permission::job_outlook(spi, job_id)?;
        let job = Waiting::read(spi, job_id)?;
        let mut circles = Search::of(spi, catalog::job_table()?);
        let mut blockers = blockers_of(spi, &job, &mut circles)?;
        blockers.try_for_each(|columns| {
            output.push(columns?.into_iter());
            Ok(())
        })?;
        Ok(None)
    })
}

/// A list of jobs is old when it is asked about: some may have started, or be gone.
pub fn why_waiting_many(call: &Call) -> Result<Option<Datum>> {
    must_have_memory()?;
    let job_ids = job_ids(call, why_waiting_many::JOB_IDS)?;
    let mut output = Output::of(call);
    with_spi(|spi| {
        let mut circles = Search::of(spi, catalog::job_table()?);
        for job_id in job_ids {
            pgrx::check_for_interrupts!();
            let Some(job) = Waiting::find(spi, job_id)? else {
                continue;
            };
            if !permission::may_know(spi, job_id)? {
                continue;
            }
            for columns in blockers_of(spi, &job, &mut circles)? {
                output.push(iter::once(datum(job_id)).chain(columns?));
            }
        }
        Ok(None)
    })
}

/// The columns of `why_waiting`.
fn blockers_of(
    spi: &Spi,
    job: &Waiting,
    circles: &mut Search,
) -> Result<impl Iterator<Item = Result<[Option<Datum>; 9]>>> {
    let blockers = why::blockers(spi, catalog::job_table()?, job, circles)?;
    Ok((1_i32..).zip(blockers).map(|(ord, blocker)| {
        let holder = match blocker.holder {
            Some(id) if permission::may_know(spi, id)? => Some(id),
            _ => None,
        };
        let number = |number: Option<u32>| {
            number.and_then(|it| datum(i32::try_from(it).unwrap_or(i32::MAX)))
        };
        Ok([
            datum(ord),
            datum(blocker.reason.name()),
            blocker.gate.and_then(|kind| datum(name_of(kind))),
            blocker.name.as_deref().and_then(datum),
            number(blocker.running),
            number(blocker.slots),
            blocker.opens_at.and_then(datum),
            holder.and_then(datum),
            datum(told(spi, &blocker, holder)?),
        ])
    }))
}

fn told(spi: &Spi, blocker: &Blocker, holder: Option<i64>) -> Result<String> {
    let detail = blocker.told(holder);
    let Some(circle) = &blocker.circle else {
        return Ok(detail);
    };
    let mut known = Vec::new();
    for &id in circle.iter() {
        if permission::may_know(spi, id)? {
            known.push(id);
        }
    }
    Ok(format!(
        "{detail} {}",
        Blocker::told_of_circle(circle, &known)
    ))
}

pub fn why_waiting_summary(call: &Call) -> Result<Option<Datum>> {
    must_have_memory()?;
    let queue = name(call.text(why_waiting_summary::QUEUE), "queue")?;
    let tenant = name(call.text(why_waiting_summary::TENANT), "tenant")?;
    let mut output = Output::of(call);
    with_spi(|spi| {
        let found = summary::of(
            spi,
            catalog::job_table()?,
            claimed_key(queue.unwrap_or(EVERY_QUEUE)),
            tenant.map(tenant_key),
        )?;
        for ((reason, gate), lanes) in found.lanes {
            let mut kinds = GateKind::ALL.into_iter();
            let kind = gate.and_then(|number| kinds.find(|&kind| kind as u8 == number));
            output.push(
                [
                    datum(reason.name()),
                    kind.and_then(|kind| datum(name_of(kind))),
                    datum(i64::try_from(lanes).unwrap_or(i64::MAX)),
                    datum(found.is_estimate),
                ]
                .into_iter(),
            );
        }
        Ok(None)
    })
}

pub fn wait_estimate(call: &Call) -> Result<Option<Datum>> {
    must_have_memory()?;
    let job_id = job(call)?;
    let mut output = Output::of(call);
    with_spi(|spi| {
        permission::job_outlook(spi, job_id)?;
        let found = estimate::of(spi, catalog::job_table()?, job_id)?;
        let pace = found.starts_per_minute.map(rounded).transpose()?;
        output.push(
            [
                datum(found.ahead),
                datum(found.is_capped),
                pace.and_then(datum),
                datum(found.bottleneck),
                found.starts_at.and_then(datum),
            ]
            .into_iter(),
        );
        Ok(None)
    })
}

/// With one digit behind the point.
fn rounded(pace: f64) -> Result<AnyNumeric> {
    let rounded = (pace * 10.0).round() / 10.0;
    AnyNumeric::try_from(rounded).map_err(|_| internal("a pace is no number"))
}

/// A transaction may be read-only. A standby has no scheduler.
fn must_have_memory() -> std::result::Result<(), Failure> {
    match server::is_in_recovery() {
        true => Err(on_standby()),
        false => Ok(()),
    }
}
