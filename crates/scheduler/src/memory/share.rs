//! Shares: what is stored of a tenant in a fair queue. See `order::share`.

use crate::memory::slab::keyed_slot;

/// Where a tenant's last start at one level of one queue ended, or where the clock of that level stands.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Share {
    pub(crate) key: u64,
    pub(crate) tag: u64,
    /// What was charged for starts that may not take place.
    pub(crate) unsettled: u64,
    pub(crate) next: u32,
}

keyed_slot!(Share);

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
