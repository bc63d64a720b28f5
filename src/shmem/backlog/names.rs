//! The table of names: linear probing, and deletion that leaves no gaps.

use super::{Backlog, Entry};
use turnstile_scheduler::GateKind;

/// The table has at least so many slots.
pub const LEAST: usize = 128;

impl<'m> Backlog<'m> {
    fn mask(&self) -> usize {
        self.entries.len().saturating_sub(1)
    }

    fn slot_behind(&self, slot: usize) -> usize {
        (slot + 1) & self.mask()
    }

    fn home(&self, key: u64) -> usize {
        // The keys are hashes.
        key as usize & self.mask()
    }

    /// How many fit, so that probing stays short.
    pub(super) fn most(&self) -> usize {
        self.entries.len() / 4 * 3
    }

    pub fn is_empty(&self) -> bool {
        self.books.used == 0
    }

    pub fn slots(&self) -> usize {
        self.entries.len()
    }

    /// How many slots a table needs that has room for so many names more.
    pub fn slots_with(&self, names: usize) -> usize {
        let names = (self.books.used as usize).saturating_add(names);
        (names / 3 * 4 + 4).next_power_of_two().max(LEAST)
    }

    /// Goes on in an empty table.
    pub fn move_to(&mut self, entries: &'m mut [Entry]) {
        let before = std::mem::replace(&mut self.entries, entries);
        for entry in before.iter().filter(|entry| entry.key != 0) {
            let slot = self.slot_of_key(entry.key, entry.kind);
            self.set(slot, *entry);
        }
    }

    /// The slot of a name, or the free one where it would be.
    fn slot_of(&self, kind: GateKind, key: u64) -> usize {
        self.slot_of_key(key, kind as u8)
    }

    fn slot_of_key(&self, key: u64, kind: u8) -> usize {
        let mut slot = self.home(key);
        while let Some(entry) = self.entries.get(slot)
            && entry.key != 0
            && (entry.key, entry.kind) != (key, kind)
        {
            slot = self.slot_behind(slot);
        }
        slot
    }

    pub(super) fn find(&mut self, kind: GateKind, key: u64) -> Option<&mut Entry> {
        if self.books.used == 0 {
            return None;
        }
        let slot = self.slot_of(kind, key);
        self.entries.get_mut(slot).filter(|entry| entry.key != 0)
    }

    pub(super) fn find_or_add(&mut self, kind: GateKind, key: u64) -> Option<&mut Entry> {
        let slot = self.slot_of(kind, key);
        let has_room = (self.books.used as usize) < self.most();
        let entry = self.entries.get_mut(slot)?;
        if entry.key == 0 {
            if !has_room {
                return None;
            }
            *entry = Entry {
                key,
                kind: kind as u8,
                ..Entry::default()
            };
            self.books.used += 1;
        }
        Some(entry)
    }

    /// Drops a name about which nothing must be remembered.
    pub(super) fn tidy(&mut self, kind: GateKind, key: u64) {
        let counts_all = self.counts_all(kind);
        let is_idle = |entry: &mut Entry| {
            entry.charged == 0 && !entry.is_listed && (entry.committed == 0 || !counts_all)
        };
        if self.find(kind, key).is_some_and(is_idle) {
            self.remove(self.slot_of(kind, key));
        }
    }

    /// Frees a slot, and moves up the entries that were pushed behind it.
    fn remove(&mut self, mut hole: usize) {
        let mask = self.mask();
        let mut slot = hole;
        loop {
            slot = self.slot_behind(slot);
            let Some(&entry) = self.entries.get(slot).filter(|entry| entry.key != 0) else {
                break;
            };
            let from_home = slot.wrapping_sub(self.home(entry.key)) & mask;
            if from_home >= slot.wrapping_sub(hole) & mask {
                self.set(hole, entry);
                hole = slot;
            }
        }
        self.set(hole, Entry::default());
        self.books.used = self.books.used.saturating_sub(1);
    }

    fn set(&mut self, slot: usize, entry: Entry) {
        if let Some(place) = self.entries.get_mut(slot) {
            *place = entry;
        }
    }
}
