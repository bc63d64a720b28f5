//! What names are called: chains of short pieces, since most names are short and some are not.

use crate::memory::longest::LONGEST_NAME;
use crate::memory::slab::chained_slot;

pub(super) const PIECE: usize = 27;
pub(super) const MOST_PIECES: usize = LONGEST_NAME.div_ceil(PIECE);

/// A piece of a name.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Text {
    /// The next piece; of a free slot, the next free one.
    pub(super) next: u32,
    /// 0: a free slot.
    pub(super) length: u8,
    pub(super) bytes: [u8; PIECE],
}

chained_slot!(Text, live: |text| text.length > 0, key: |_| None);
