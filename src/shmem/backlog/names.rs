//! The table of names: linear probing, and deletion that leaves no gaps.

use super::{Backlog, Entry};
use turnstile_scheduler::GateKind;

impl Backlog<'_> {
    fn slot_behind(&self, slot: usize) -> usize {
        (slot + 1) & (self.entries.len() - 1)
    }

    fn home(&self, key: u64) -> usize {
        // The keys are hashes.
        key as usize & (self.entries.len() - 1)
    }

    /// How many fit, so that probing stays short.
    pub(super) fn most(&self) -> usize {
        self.entries.len() / 4 * 3
    }

    /// The slot of a name, or the free one where it would be.
    fn slot_of(&self, kind: GateKind, key: u64) -> usize {
        let mut slot = self.home(key);
        while let Some(entry) = self.entries.get(slot)
            && entry.key != 0
            && (entry.key, entry.kind) != (key, kind as u8)
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
        let mask = self.entries.len() - 1;
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
