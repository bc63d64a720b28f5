//! Checks what each array has handed out, and its index.

use crate::memory::index::bucket_of;
use crate::memory::scheduler::Scheduler;
use crate::memory::slab::{Slab, Slot};
use crate::memory::step::{Fault, NONE, Step};

/// No walk along a list of slots is longer, unless it goes in a circle.
fn walk<T: Slot>(slab: &Slab<T>, first: u32, mut visit: impl FnMut(u32) -> Step<()>) -> Step<()> {
    let mut at = first;
    for _ in 0..slab.slots.len() {
        if at == NONE {
            return Ok(());
        }
        visit(at)?;
        at = slab.get(at)?.next();
    }
    Err(Fault::Corrupt("a list of slots has a cycle"))
}

fn audit_slots<T: Slot>(slab: &Slab<T>) -> Step<()> {
    let (mut live, mut keyed) = (0, 0);
    for at in slab.touched() {
        if slab.is_live(at)? {
            live += 1;
            keyed += u32::from(slab.key(at)?.is_some());
        }
    }
    if live != slab.pool.live {
        return Err(Fault::Corrupt("the number of live slots is wrong"));
    }
    if keyed != slab.pool.linked {
        return Err(Fault::Corrupt("the number of linked slots is wrong"));
    }
    let mut free = 0;
    walk(slab, slab.pool.free, |at| {
        free += 1;
        match at > slab.pool.used || slab.is_live(at)? {
            true => Err(Fault::Corrupt("a slot in use is in the free list")),
            false => Ok(()),
        }
    })?;
    match slab.pool.used - live == free {
        true => Ok(()),
        false => Err(Fault::Corrupt("a free slot is not in the free list")),
    }
}

fn audit_index<T: Slot>(slab: &Slab<T>) -> Step<()> {
    let last = slab.pool.last_bucket;
    if last > slab.pool.used / T::CHAIN {
        return Err(Fault::Corrupt("an index has more buckets than it needs"));
    }
    let mut linked = 0;
    for bucket in 0..=last {
        let first = slab.buckets.get(bucket as usize);
        let first = first.ok_or(Fault::Corrupt("a bucket in use is missing"))?;
        walk(slab, *first, |at| {
            linked += 1;
            let key = slab.key(at)?.filter(|_| at <= slab.pool.used);
            match key.is_some_and(|key| bucket_of(key, last) == bucket) {
                true => Ok(()),
                false => Err(Fault::Corrupt("a slot is in the chain of another key")),
            }
        })?;
    }
    match linked == slab.pool.linked {
        true => Ok(()),
        false => Err(Fault::Corrupt("a slot is missing from its index")),
    }
}

fn audit_array<T: Slot>(slab: &Slab<T>) -> Step<()> {
    audit_slots(slab)?;
    audit_index(slab)
}

impl Scheduler<'_> {
    pub(crate) fn audit_arrays(&self) -> Step<()> {
        audit_array(&self.lanes)?;
        audit_array(&self.nodes)?;
        audit_array(&self.gates)?;
        audit_array(&self.meters)?;
        audit_array(&self.shares)?;
        audit_array(&self.leases)?;
        audit_array(&self.reservations)
    }
}
