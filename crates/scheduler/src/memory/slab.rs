//! Arrays of slots, each with a free list. See `memory::index` for how slots are found by their keys.
//!
//! Nothing here allocates, and links are indexes: the arrays may be in shared memory. Between two steps an array may have
//! become longer, or shorter by slots that are not needed. What a new slot holds does not matter.

use crate::memory::step::{Fault, NONE, Step};
use crate::testing::faults::{Seeded, armed};

/// A value that lives in a slot and can be chained in its array's index.
pub(crate) trait Slot: Copy + Default {
    /// What a second array holds of it in the same slot; `()`: nothing.
    type Beside: Copy + Default;
    /// How many slots share a chain of the index on average.
    const CHAIN: u32;

    fn next(&self) -> u32;
    fn set_next(&mut self, next: u32);
    /// The slot is handed out.
    fn is_live(&self, beside: &Self::Beside) -> bool;
    /// The key in the index; none where the index does not have it.
    fn key(&self, beside: &Self::Beside) -> Option<u64>;
}

/// A value that is chained by its own `next`, with nothing beside it.
macro_rules! chained_slot {
    ($slot:ty, live: |$it:ident| $live:expr, key: |$of:pat_param| $key:expr) => {
        impl $crate::memory::slab::Slot for $slot {
            type Beside = ();
            const CHAIN: u32 = 1;

            fn next(&self) -> u32 {
                self.next
            }
            fn set_next(&mut self, next: u32) {
                self.next = next;
            }
            fn is_live(&self, (): &()) -> bool {
                let $it = self;
                $live
            }
            fn key(&self, (): &()) -> Option<u64> {
                let $of = self;
                $key
            }
        }
    };
}
pub(crate) use chained_slot;

/// One that is live while it has a key, by which the index has it.
macro_rules! keyed_slot {
    ($slot:ty) => {
        $crate::memory::slab::chained_slot!($slot, live: |it| it.key != 0, key: |it| Some(it.key));
    };
}
pub(crate) use keyed_slot;

/// What an array has handed out. All zero is "nothing yet", so fresh shared memory needs no set-up.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Pool {
    pub live: u32,
    /// No slot behind this one is live.
    pub(crate) used: u32,
    pub(crate) free: u32,
    /// Slots that the index has.
    pub(crate) linked: u32,
    /// Buckets up to this one are in use.
    pub(crate) last_bucket: u32,
}

/// Mixes keys that are already hashes (the finaliser of splitmix64).
pub(crate) fn mix(a: u64, b: u64) -> u64 {
    let mut z = a.rotate_left(32) ^ b.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// An array with its index. A slot without a key is in no index.
pub(crate) struct Slab<'m, T: Slot> {
    pub pool: &'m mut Pool,
    pub slots: &'m mut [T],
    pub beside: &'m mut [T::Beside],
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

    pub fn is_mostly_free(&self) -> bool {
        self.left() > self.slots.len() / 2
    }

    /// Slots that may be live.
    pub fn touched(&self) -> std::ops::RangeInclusive<u32> {
        1..=self.pool.used
    }

    /// How many slots the array must have.
    pub fn needed(&self) -> usize {
        self.pool.used as usize + 1
    }

    pub fn insert(&mut self, value: T, key: Option<u64>) -> Step<u32> {
        let at = match self.pool.free {
            NONE if self.needed() < self.slots.len() => {
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
        self.put_in_free_list(at)?;
        let live = self.pool.live.checked_sub(1);
        self.pool.live = live.ok_or(Fault::Corrupt("more slots than were handed out"))?;
        Ok(())
    }

    fn put_in_free_list(&mut self, at: u32) -> Step<()> {
        let mut empty = T::default();
        empty.set_next(self.pool.free);
        *self.get_mut(at)? = empty;
        if let Some(beside) = self.beside.get_mut(at as usize) {
            *beside = T::Beside::default();
        }
        self.pool.free = at;
        Ok(())
    }

    /// Forgets everything. It touches no slot, so what was in them stays there until they are handed out.
    pub fn clear(&mut self) {
        *self.pool = Pool::default();
        self.empty_index();
    }

    /// The same, and empties the slots: for an array whose slots are read when nothing else can be trusted.
    pub fn wipe(&mut self) {
        for slot in self.slots.iter_mut() {
            if slot.is_live(&T::Beside::default()) {
                *slot = T::default();
            }
        }
        self.clear();
    }

    /// Makes the pool, the free list and the index again from the slots.
    pub fn reindex(&mut self) -> Step<()> {
        let last = self.slots.len().saturating_sub(1);
        *self.pool = Pool {
            used: u32::try_from(last).unwrap_or(u32::MAX),
            ..Pool::default()
        };
        self.empty_index();
        self.list_free_slots()?;
        for at in self.touched() {
            if self.is_live(at)? {
                self.pool.live += 1;
                if let Some(key) = self.key(at)? {
                    self.link(at, key)?;
                }
            }
        }
        Ok(())
    }

    /// If at most half of the slots are live, gives up the free ones at the end. Those that are left are handed out
    /// from the first on, so that later ones fall free.
    pub fn trim(&mut self) -> Step<()> {
        if self.pool.live > self.pool.used / 2 {
            return Ok(());
        }
        self.list_free_slots()?;
        self.pool.used -= u32::from(armed(Seeded::TrimLiveSlot) && self.pool.used > 0);
        self.merge_buckets()
    }

    fn list_free_slots(&mut self) -> Step<()> {
        let slots = self.needed().min(self.slots.len());
        let mut at = u32::try_from(slots).unwrap_or(u32::MAX).saturating_sub(1);
        while at != NONE && !self.is_live(at)? {
            at -= 1;
        }
        self.pool.used = at;
        self.pool.free = NONE;
        for at in (1..at).rev() {
            if !self.is_live(at)? {
                self.put_in_free_list(at)?;
            }
        }
        Ok(())
    }

    pub fn is_live(&self, at: u32) -> Step<bool> {
        Ok(self.get(at)?.is_live(&self.beside_of(at)))
    }

    /// The key in the index of a live slot.
    pub fn key(&self, at: u32) -> Step<Option<u64>> {
        Ok(self.get(at)?.key(&self.beside_of(at)))
    }

    fn beside_of(&self, at: u32) -> T::Beside {
        self.beside.get(at as usize).copied().unwrap_or_default()
    }
}

/// How many buckets an index makes use of, at most, if its array has so many slots.
pub(crate) const fn buckets_for<T: Slot>(slots: usize) -> usize {
    slots.saturating_sub(1) / T::CHAIN as usize + 1
}
