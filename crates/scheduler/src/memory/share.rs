//! Shares: what is stored of a tenant in a fair queue. See `order::share`.

use crate::memory::slab::Slot;

/// Where a tenant's last start at one level of one queue ended; or where the clock of the level stands.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Share {
    pub(crate) key: u64,
    pub(crate) tag: u64,
    /// What was charged for starts of which it is not known yet whether they take place.
    pub(crate) unsettled: u64,
    pub(crate) next: u32,
}

impl Slot for Share {
    fn next(&self) -> u32 {
        self.next
    }
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

#[cfg(feature = "damage")]
impl Share {
    pub(crate) fn damage(&mut self, field: u8, value: u64) {
        match field % 4 {
            0 => self.key = value,
            1 => self.tag = value,
            2 => self.unsettled = value,
            _ => self.next = value as u32,
        }
    }
}
