//! The index of an array: a chained hash index over 64-bit keys that grows and shrinks by one bucket at a time (linear
//! hashing). So no step has to hash all keys again.
//!
//! 1. Each slot that is linked is in the chain of the bucket of its key, whatever the index has grown or shrunk from.
//! 2. No more buckets are in use than slots ask for, so an array and its buckets can be given back together.
//!
//! If there are fewer buckets than slots ask for, chains are longer.

use crate::memory::slab::{Slab, Slot, mix};
use crate::memory::step::{Fault, NONE, Step};
use crate::testing::faults::{Seeded, armed};

/// Where buckets were missing for a while, the index catches up by this many each time that a slot is linked.
const SPLITS_AT_ONCE: usize = 2;

const CYCLE: Fault = Fault::Corrupt("an index chain has a cycle");
const NO_BUCKET: Fault = Fault::Corrupt("bucket");

/// All bits up to the highest of a number, and at least one.
fn mask_of(number: u32) -> u32 {
    u32::MAX >> (number | 1).leading_zeros()
}

/// The bucket that a bucket was split from.
fn origin_of(bucket: u32) -> u32 {
    bucket & (mask_of(bucket) >> 1)
}

/// The bucket of a key, if buckets up to `last` are in use.
pub(crate) fn bucket_of(key: u64, last: u32) -> u32 {
    let bucket = mix(key, 0) as u32 & mask_of(last);
    match bucket > last {
        true => bucket & (mask_of(last) >> 1),
        false => bucket,
    }
}

impl<T: Slot> Slab<'_, T> {
    pub fn find(&self, key: u64, is_it: impl Fn(u32, &T) -> bool) -> Step<Option<u32>> {
        let bucket = bucket_of(key, self.pool.last_bucket);
        let mut at = *self.buckets.get(bucket as usize).ok_or(NO_BUCKET)?;
        for _ in 0..self.slots.len() {
            if at == NONE {
                return Ok(None);
            }
            let slot = self.get(at)?;
            if is_it(at, slot) {
                return Ok(Some(at));
            }
            at = slot.next();
        }
        Err(CYCLE)
    }

    /// Reads where the chains of these keys begin, and those that are split when they are linked. The reads do not depend on
    /// each other: all wait for the machine's memory together, and not one after the other.
    pub fn read_ahead(&self, keys: &[u64]) -> u32 {
        let last = self.pool.last_bucket;
        let chain_of = |bucket: u32| {
            let first = self.buckets.get(bucket as usize).copied();
            let slot = first.and_then(|first| self.slots.get(first as usize));
            slot.map_or(NONE, Slot::next)
        };
        let found = keys.iter().map(|&key| chain_of(bucket_of(key, last)));
        let split = (last + 1..)
            .take(keys.len())
            .map(|new| chain_of(origin_of(new)));
        found.chain(split).fold(0, |sum, next| sum ^ next)
    }

    pub fn link(&mut self, at: u32, key: u64) -> Step<()> {
        // Before the slot is in a chain: its key may not be complete yet.
        for _ in 0..SPLITS_AT_ONCE {
            if self.has_long_chains() {
                self.split_bucket()?;
            }
        }
        self.pool.linked = self.pool.linked.saturating_add(1);
        self.put_in_chain(at, bucket_of(key, self.pool.last_bucket))
    }

    /// Takes a slot out of the chain of its key.
    pub fn unlink(&mut self, at: u32, key: u64) -> Step<()> {
        let next = self.get(at)?.next();
        let linked = self.pool.linked.checked_sub(1);
        self.pool.linked = linked.ok_or(Fault::Corrupt("more slots than were linked"))?;
        let first = self.bucket_mut(bucket_of(key, self.pool.last_bucket))?;
        if *first == at {
            *first = next;
            return Ok(());
        }
        let mut before = *first;
        for _ in 0..self.slots.len() {
            let after = self.get(before)?.next();
            if after == at {
                self.get_mut(before)?.set_next(next);
                return Ok(());
            }
            before = after;
        }
        Err(Fault::Corrupt("a slot is missing from its index"))
    }

    pub fn empty_index(&mut self) {
        (self.pool.last_bucket, self.pool.linked) = (0, 0);
        if let Some(first) = self.buckets.first_mut() {
            *first = NONE;
        }
    }

    /// Takes as many buckets out of use as the slots no longer ask for.
    pub fn merge_buckets(&mut self) -> Step<()> {
        while self.pool.last_bucket > self.pool.used / T::CHAIN {
            self.merge_last_bucket()?;
        }
        Ok(())
    }

    fn has_long_chains(&self) -> bool {
        let buckets = u64::from(self.pool.last_bucket) + 1;
        u64::from(self.pool.linked) >= buckets * u64::from(T::CHAIN)
            && buckets < self.buckets.len() as u64
    }

    /// Takes one more bucket into use, and moves to it what belongs there.
    fn split_bucket(&mut self) -> Step<()> {
        let new = self.pool.last_bucket + 1;
        let mut at = std::mem::replace(self.bucket_mut(origin_of(new))?, NONE);
        *self.bucket_mut(new)? = NONE;
        self.pool.last_bucket = new;
        for _ in 0..self.slots.len() {
            if at == NONE {
                return Ok(());
            }
            let next = self.get(at)?.next();
            let key = self.key(at)?;
            let key = key.ok_or(Fault::Corrupt("a slot without a key is in the index"))?;
            let stays = next == NONE && armed(Seeded::LeaveBehindInSplit);
            self.put_in_chain(
                at,
                match stays {
                    true => origin_of(new),
                    false => bucket_of(key, new),
                },
            )?;
            at = next;
        }
        Err(CYCLE)
    }

    fn merge_last_bucket(&mut self) -> Step<()> {
        let last = self.pool.last_bucket;
        let mut at = *self.bucket_mut(last)?;
        self.pool.last_bucket = last.saturating_sub(1);
        for _ in 0..self.slots.len() {
            if at == NONE || armed(Seeded::LoseMergedChain) {
                return Ok(());
            }
            let next = self.get(at)?.next();
            self.put_in_chain(at, origin_of(last))?;
            at = next;
        }
        Err(CYCLE)
    }

    fn put_in_chain(&mut self, at: u32, bucket: u32) -> Step<()> {
        let next = std::mem::replace(self.bucket_mut(bucket)?, at);
        self.get_mut(at)?.set_next(next);
        Ok(())
    }

    fn bucket_mut(&mut self, at: u32) -> Step<&mut u32> {
        self.buckets.get_mut(at as usize).ok_or(NO_BUCKET)
    }
}
