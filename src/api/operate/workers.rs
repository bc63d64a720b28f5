//! Who claims, for the view `turnstile.workers`.

use crate::api::operate::figures::timestamp;
use crate::pg::call::{Call, datum};
use crate::pg::error::Result;
use crate::pg::output::Output;
use crate::pg::{catalog, server};
use crate::shmem::{self, Locked};
use pgrx::pg_sys::Datum;
use turnstile_scheduler::figures::Id;
use turnstile_scheduler::workers::WorkerView;
use turnstile_scheduler::{GateKind, Step};

pub fn workers_seen(call: &Call) -> Result<Option<Datum>> {
    let mut output = Output::of(call);
    // Nobody claims on a standby.
    if server::is_in_recovery() {
        return Ok(None);
    }
    for worker in shmem::with(catalog::job_table()?, seen)? {
        push(&mut output, &worker);
    }
    Ok(None)
}

fn seen(memory: &mut Locked) -> Step<Vec<WorkerView>> {
    let Ok(mut workers) = memory.workers().view() else {
        memory.workers().forget_everything();
        return Ok(Vec::new());
    };
    for worker in workers.iter_mut().filter(|it| it.queue_name.is_empty()) {
        let queue = Id {
            kind: GateKind::Queue,
            key: worker.queue,
        };
        if let Ok(Some(name)) = memory.figures.called(queue) {
            worker.queue_name = name.into_boxed_bytes();
        }
    }
    Ok(workers)
}

fn push(output: &mut Output, worker: &WorkerView) {
    let queue = Some(&*worker.queue_name).filter(|name| !name.is_empty());
    let columns = [
        worker.name.as_deref().and_then(datum),
        queue.and_then(datum),
        timestamp(worker.first_seen),
        timestamp(worker.last_seen),
        datum(worker.claims.cast_signed()),
        datum(worker.jobs.cast_signed()),
    ];
    output.push(columns.into_iter());
}
