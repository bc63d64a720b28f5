//! `why_waiting`, its summary, and `wait_estimate`.

use crate::api::arguments::{job, name};
use crate::job::lane::{EVERY_QUEUE, claimed_key, tenant_key};
use crate::outlook::why::name_of;
use crate::outlook::{estimate, summary, why};
use crate::permission;
use crate::pg::call::{Call, arguments, datum};
use crate::pg::error::{Failure, Result, internal, on_standby};
use crate::pg::output::Output;
use crate::pg::spi::with_spi;
use crate::pg::{catalog, server};
use pgrx::AnyNumeric;
use pgrx::pg_sys::Datum;
use turnstile_scheduler::GateKind;

arguments!(why_waiting_summary: QUEUE, TENANT);

pub fn why_waiting(call: &Call) -> Result<Option<Datum>> {
    must_have_memory()?;
    let job_id = job(call)?;
    let mut output = Output::of(call);
    with_spi(|spi| {
        permission::job_outlook(spi, job_id)?;
        let blockers = why::blockers(spi, catalog::job_table()?, job_id)?;
        for (ord, blocker) in (1_i32..).zip(blockers) {
            let holder = match blocker.holder {
                Some(id) if permission::may_know(spi, id)? => Some(id),
                _ => None,
            };
            let number = |number: Option<u32>| {
                number.and_then(|it| datum(i32::try_from(it).unwrap_or(i32::MAX)))
            };
            output.push(
                [
                    datum(ord),
                    datum(blocker.reason.name()),
                    blocker.gate.and_then(|kind| datum(name_of(kind))),
                    blocker.name.and_then(datum),
                    number(blocker.running),
                    number(blocker.slots),
                    blocker.opens_at.and_then(datum),
                    holder.and_then(datum),
                    datum(blocker.detail),
                ]
                .into_iter(),
            );
        }
        Ok(None)
    })
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
