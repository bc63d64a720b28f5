//! Who claims: what workers call themselves, where they last looked for jobs, and since when.
//!
//! 1. No more names are kept than [`MOST_WORKERS`]. One that is new when there is no room takes the place of the one that was
//!    seen longest ago.
//! 2. What a step costs does not depend on how many names there are.

mod name;
mod sighting;
mod worker;

use crate::memory::slab::{Pool, Slab, buckets_for};
use crate::memory::step::{Fault, NONE, Step};
use crate::testing::faults::{Seeded, armed};

pub use name::Name;
pub use sighting::Sighting;
pub use worker::{QUEUE_NAME, WORKER_NAME, Worker, WorkerView};

pub const MOST_WORKERS: usize = 1_000;
/// Slot 0 is never in use.
pub const WORKER_SLOTS: usize = MOST_WORKERS + 1;

/// How many buckets belong to so many slots.
pub const fn worker_buckets(slots: usize) -> usize {
    buckets_for::<Worker>(slots)
}

/// All zero: nobody was seen.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct WorkersHeader {
    pool: Pool,
    newest: u32,
    oldest: u32,
}

/// The parts of it. The arrays may be longer the next time.
pub struct WorkersMemory<'m> {
    pub header: &'m mut WorkersHeader,
    pub workers: &'m mut [Worker],
    pub buckets: &'m mut [u32],
}

pub struct Workers<'m> {
    newest: &'m mut u32,
    oldest: &'m mut u32,
    slab: Slab<'m, Worker>,
}

impl<'m> Workers<'m> {
    pub fn new(memory: WorkersMemory<'m>) -> Self {
        let WorkersHeader {
            pool,
            newest,
            oldest,
        } = memory.header;
        Self {
            newest,
            oldest,
            slab: Slab {
                pool,
                slots: memory.workers,
                beside: &mut [],
                buckets: memory.buckets,
            },
        }
    }

    pub fn forget_everything(&mut self) {
        self.slab.clear();
        (*self.newest, *self.oldest) = (NONE, NONE);
    }

    pub fn is_empty(&self) -> bool {
        self.slab.pool.live == 0
    }

    /// Notes a worker. False if it is new and the arrays have no slot for it, although there may be more names. Where the
    /// queue is another than before, its name is asked for.
    pub fn note(
        &mut self,
        sighting: &Sighting,
        name_queue: impl FnOnce(&mut Name<QUEUE_NAME>),
    ) -> Step<bool> {
        let known = match self.slab.buckets.is_empty() {
            true => None,
            false => self
                .slab
                .find(sighting.key, |_, it| it.key == sighting.key)?,
        };
        let at = match known {
            Some(at) => at,
            None => match self.add(sighting)? {
                Some(at) => at,
                None => return Ok(false),
            },
        };
        if at != *self.newest && !armed(Seeded::KeepPlaceOfSeen) {
            self.take_out(at)?;
            self.put_first(at)?;
        }
        self.slab.get_mut(at)?.note(sighting, name_queue);
        Ok(true)
    }

    fn add(&mut self, sighting: &Sighting) -> Step<Option<u32>> {
        if self.slab.pool.live as usize >= MOST_WORKERS && !armed(Seeded::KeepEveryWorker) {
            self.forget_oldest()?;
        }
        let worker = Worker::new(sighting);
        match self.slab.insert(worker, Some(sighting.key)) {
            Ok(at) => {
                self.put_first(at)?;
                Ok(Some(at))
            }
            Err(Fault::Full) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// Makes room where the arrays cannot grow.
    pub fn forget_oldest(&mut self) -> Step<()> {
        let at = *self.oldest;
        if at == NONE {
            return Ok(());
        }
        let key = self.slab.get(at)?.key;
        self.take_out(at)?;
        self.slab.remove(at, Some(key))
    }

    fn put_first(&mut self, at: u32) -> Step<()> {
        let before = *self.newest;
        let worker = self.slab.get_mut(at)?;
        (worker.newer, worker.older) = (NONE, before);
        match before {
            NONE => *self.oldest = at,
            before => self.slab.get_mut(before)?.newer = at,
        }
        *self.newest = at;
        Ok(())
    }

    fn take_out(&mut self, at: u32) -> Step<()> {
        let Worker { newer, older, .. } = *self.slab.get(at)?;
        match newer {
            NONE => *self.newest = older,
            newer => self.slab.get_mut(newer)?.older = older,
        }
        match older {
            NONE => *self.oldest = newer,
            older => self.slab.get_mut(older)?.newer = newer,
        }
        Ok(())
    }

    /// Those that are known, the one that was seen last first.
    pub fn view(&self) -> Step<Vec<WorkerView>> {
        let mut found = Vec::new();
        let mut at = *self.newest;
        while at != NONE {
            if found.len() > self.slab.slots.len() {
                return Err(Fault::Corrupt("the list of workers has a cycle"));
            }
            let worker = self.slab.get(at)?;
            found.push(worker.view());
            at = worker.older;
        }
        Ok(found)
    }
}
