//! Fixed arrays of slots, each with a free list and a chained hash index over 64-bit keys.
//!
//! Nothing here allocates, and links are indexes: the arrays may be in shared memory.

use crate::memory::step::{Fault, NONE, Step};

/// A value that lives in a slot and can be chained in its array's index.
pub(crate) trait Slot: Copy + Default {
    fn next(&self) -> u32;
    fn set_next(&mut self, next: u32);
}

/// What an array has handed out; all zero is "nothing yet", so fresh shared memory needs no set-up.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Pool {
    pub live: u32,
    pub(crate) used: u32,
    pub(crate) free: u32,
}

/// Mixes keys that are already hashes (the finaliser of splitmix64).
pub(crate) fn mix(a: u64, b: u64) -> u64 {
    let mut z = a.rotate_left(32) ^ b.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// One array with its index. What is given no key is in no index.
pub(crate) struct Slab<'m, T> {
    pub pool: &'m mut Pool,
    pub slots: &'m mut [T],
    pub buckets: &'m mut [u32],
}

impl<T: Slot> Slab<'_, T> {
    pub fn get(&self, at: u32) -> Step<&T> {
        self.slots
            .get(at as usize)
            .filter(|_| at != NONE)
            .ok_or(Fault::Corrupt("slot"))
    }

    pub fn get_mut(&mut self, at: u32) -> Step<&mut T> {
        self.slots
            .get_mut(at as usize)
            .filter(|_| at != NONE)
            .ok_or(Fault::Corrupt("slot"))
    }

    /// Slots that can still be handed out; slot 0 never is.
    pub fn left(&self) -> usize {
        self.slots
            .len()
            .saturating_sub(1)
            .saturating_sub(self.pool.live as usize)
    }

    /// Slots that were ever handed out, free ones included.
    pub fn touched(&self) -> std::ops::RangeInclusive<u32> {
        1..=self.pool.used
    }

    /// As many slots from the first on, however damaged the count is.
    pub fn used_slots(&self) -> usize {
        (self.pool.used as usize + 1).min(self.slots.len())
    }

    pub fn insert(&mut self, value: T, key: Option<u64>) -> Step<u32> {
        let at = match self.pool.free {
            NONE if self.pool.used as usize + 1 < self.slots.len() => {
                self.pool.used += 1;
                self.pool.used
            }
            NONE => return Err(Fault::Full),
            at => {
                self.pool.free = self.get(at)?.next();
                at
            }
        };
        self.pool.live = self.pool.live.saturating_add(1);
        *self.get_mut(at)? = value;
        if let Some(key) = key {
            self.link(at, key)?;
        }
        Ok(at)
    }

    pub fn remove(&mut self, at: u32, key: Option<u64>) -> Step<()> {
        if let Some(key) = key {
            self.unlink(at, key)?;
        }
        let mut empty = T::default();
        empty.set_next(self.pool.free);
        *self.get_mut(at)? = empty;
        self.pool.free = at;
        let live = self.pool.live.checked_sub(1);
        self.pool.live = live.ok_or(Fault::Corrupt("more slots than were handed out"))?;
        Ok(())
    }

    pub fn find(&self, key: u64, is_it: impl Fn(u32, &T) -> bool) -> Step<Option<u32>> {
        let mut at = *self
            .buckets
            .get(self.bucket(key))
            .ok_or(Fault::Corrupt("bucket"))?;
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
        Err(Fault::Corrupt("an index chain has a cycle"))
    }

    pub fn link(&mut self, at: u32, key: u64) -> Step<()> {
        let next = std::mem::replace(self.bucket_mut(key)?, at);
        self.get_mut(at)?.set_next(next);
        Ok(())
    }

    /// Takes a slot out of the chain of its key.
    pub fn unlink(&mut self, at: u32, key: u64) -> Step<()> {
        let next = self.get(at)?.next();
        let first = self.bucket_mut(key)?;
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

    /// Forgets everything, touching only what was used.
    pub fn clear(&mut self) {
        let used = self.used_slots();
        if let Some(slots) = self.slots.get_mut(..used) {
            slots.fill(T::default());
        }
        self.buckets.fill(NONE);
        *self.pool = Pool::default();
    }

    /// Makes pool, free list and index anew from the slots; those that are not `live` are emptied.
    pub fn reindex(
        &mut self,
        live: impl Fn(&T) -> bool,
        key: impl Fn(&T) -> Option<u64>,
    ) -> Step<()> {
        self.buckets.fill(NONE);
        *self.pool = Pool::default();
        let last = self.slots.iter().rposition(&live);
        self.pool.used = last.and_then(|at| u32::try_from(at).ok()).unwrap_or(NONE);
        for at in self.touched() {
            let slot = self.get(at)?;
            if live(slot) {
                let key = key(slot);
                self.pool.live += 1;
                if let Some(key) = key {
                    self.link(at, key)?;
                }
            } else {
                let mut empty = T::default();
                empty.set_next(std::mem::replace(&mut self.pool.free, at));
                *self.get_mut(at)? = empty;
            }
        }
        Ok(())
    }

    /// Scaled down rather than masked, so that there may be any number of buckets.
    fn bucket(&self, key: u64) -> usize {
        let spread = u128::from(mix(key, 0)) * self.buckets.len() as u128;
        (spread >> 64) as usize
    }

    fn bucket_mut(&mut self, key: u64) -> Step<&mut u32> {
        let at = self.bucket(key);
        self.buckets.get_mut(at).ok_or(Fault::Corrupt("bucket"))
    }
}
