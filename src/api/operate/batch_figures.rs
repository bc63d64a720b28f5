//! How many live children a batch has, for the view `turnstile.batches`: what it shows of one costs no look at others.

use crate::api::operate::figures::from_memory;
use crate::job::tables;
use crate::pg::call::{Call, arguments, datum, required};
use crate::pg::catalog;
use crate::pg::error::Result;
use crate::pg::output::Output;
use crate::pg::rights::Owner;
use crate::pg::server;
use crate::pg::snapshot::Snapshot;
use crate::pg::spi::{Statement, statement, with_spi};
use crate::shmem;
use pgrx::pg_sys::{self, Datum};
use turnstile_scheduler::GateKind;
use turnstile_scheduler::figures::{Id, Trust};

arguments!(batch_figures: ID);

static COUNT_CHILDREN: Statement = statement!("count_children", [INT8OID]);

/// Children that wait, that run, and that have ended in the last minute.
#[derive(Clone, Copy, Default)]
struct Children {
    waiting: i64,
    running: i64,
    ended: i64,
}

pub fn batch_figures(call: &Call) -> Result<Option<Datum>> {
    let batch = required(call.int8(batch_figures::ID), "id")?;
    let mut output = Output::of(call);
    let Children {
        waiting,
        running,
        ended,
    } = children_of(batch)?;
    output.push([waiting, running, ended].into_iter().map(datum));
    Ok(None)
}

/// From memory, or counted by the index of parents where the memory cannot be used or has no room for all batches.
fn children_of(batch: i64) -> Result<Children> {
    let job_table = catalog::job_table()?;
    let found = from_memory(job_table, |makes_up| look(job_table, batch, makes_up))?;
    let (is_whole, known) = found.unwrap_or_default();
    if is_whole {
        return Ok(known);
    }
    let (waiting, running) = count(job_table, batch)?;
    Ok(Children {
        waiting,
        running,
        ..known
    })
}

fn look(job_table: pg_sys::Oid, batch: i64, makes_up: bool) -> Result<(Trust, (bool, Children))> {
    shmem::with(job_table, |memory| {
        if makes_up {
            memory.make_up_for_overflow();
        }
        let id = Id {
            kind: GateKind::Batch,
            key: batch.cast_unsigned(),
        };
        let children = match memory.figures.view_one(id, server::now())? {
            Some(view) => {
                let [waiting, scheduled, retryable, running, blocked] =
                    view.states.unwrap_or_default();
                Children {
                    waiting: waiting + scheduled + retryable + blocked,
                    running,
                    ended: view.ended.cast_signed(),
                }
            }
            None => Children::default(),
        };
        let is_whole = memory.figures.is_whole(GateKind::Batch);
        Ok((memory.figures.trust(), (is_whole, children)))
    })
}

/// Those that wait, and those that run.
fn count(job_table: pg_sys::Oid, batch: i64) -> Result<(i64, i64)> {
    tables::lock(job_table)?;
    let mut counted = (0, 0);
    let snapshot = Snapshot::with_own_changes();
    Owner::of_jobs()?.run(|| {
        with_spi(|spi| {
            spi.scan(&COUNT_CHILDREN, &[datum(batch)], &snapshot, 1, |rows| {
                counted = (rows.required(0, 1)?, rows.required(0, 2)?);
                Ok(())
            })
        })
    })?;
    Ok(counted)
}
