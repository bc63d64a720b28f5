//! Which job the next claim from a queue would take, without taking it.

use crate::claims::pass_over::pass_over;
use crate::claims::search::bring_back_all;
use crate::pg::call::datum;
use crate::pg::error::Result;
use crate::pg::server;
use crate::pg::spi::{Spi, Statement, statement};
use crate::pg::tuple::RawRow;
use crate::sync::gate_settings::SettingsReader;
use crate::sync::held_session;
use crate::sync::rebuild::when_ready;
use crate::table::locked::{Found, first_free};
use crate::transaction::pending;
use pgrx::pg_sys;
use turnstile_scheduler::{LaneSpec, Pick, Picked};

static FIRST_IN_LANE: Statement = statement!(
    "first_in_lane",
    [INT8OID, INT8OID, INT8OID, INT8OID, INT8ARRAYOID]
);

/// Lanes that one look goes through: memory may list many whose jobs are gone.
const LOOKS_AT_MOST: usize = 256;

#[derive(Clone, Copy, Debug)]
pub enum Next {
    Nobody,
    Job {
        id: i64,
        spec: LaneSpec,
        position: i64,
    },
    /// It took too long to find out.
    Unknown,
}

/// The job that a claim of one job from the queue takes next, of what is in memory.
pub fn next_of(spi: &Spi, job_table: pg_sys::Oid, queue: u64) -> Result<Next> {
    when_ready(spi, job_table, |memory| memory.bring_back(server::now()))?;
    let mut settings = SettingsReader::default();
    for _ in 0..LOOKS_AT_MOST {
        let pick = when_ready(spi, job_table, |memory| {
            memory.scheduler.peek(queue, server::now())
        })?;
        match pick {
            Pick::Nothing if bring_back_all(spi, job_table)? => {}
            Pick::Nothing => return Ok(Next::Nobody),
            Pick::Exhausted => break,
            Pick::Unknown(spec, gates) => settings.read(spi, job_table, &spec, &gates)?,
            Pick::Lane(picked) if picked.is_only_looked_at => {
                pass_over(spi, job_table, &picked, false)?;
            }
            Pick::Lane(picked) => {
                let found = look(spi, job_table, &picked)?;
                if let Some((id, position)) = found.free {
                    let spec = picked.spec;
                    return Ok(Next::Job { id, spec, position });
                }
                pass_over(spi, job_table, &picked, found.all_held)?;
            }
        }
    }
    Ok(Next::Unknown)
}

fn look(spi: &Spi, job_table: pg_sys::Oid, picked: &Picked) -> Result<Found> {
    let own = pending::with(|pending| pending.own_positions(picked.spec.lane));
    let before = picked.bound.unwrap_or(i64::MAX);
    let range = (picked.head, before);
    let is_paused = |job: &RawRow| held_session::is_paused(spi, job_table, job);
    if let Some(found) = first_free(&picked.spec, range, &own, is_paused)? {
        return Ok(found);
    }
    let free = first_in_lane(spi, &picked.spec, picked.head, before)?;
    Ok(Found {
        free,
        all_held: false,
    })
}

/// The first job of a lane in a range of positions that a claim would not pass over, locked or not: (id, position).
pub fn first_in_lane(
    spi: &Spi,
    spec: &LaneSpec,
    from: i64,
    before: i64,
) -> Result<Option<(i64, i64)>> {
    let own = pending::with(|pending| pending.own_positions(spec.lane));
    let rows = spi.run(
        &FIRST_IN_LANE,
        &[
            datum(spec.group().cast_signed()),
            datum(spec.lane.cast_signed()),
            datum(from),
            datum(before),
            datum(own),
        ],
    )?;
    let [id, position] = [1, 2].map(|column| rows.value(0, column));
    Ok(id.zip(position))
}
