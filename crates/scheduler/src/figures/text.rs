//! What names are called: chains of short pieces, since most names are short and some are not.

use super::Figures;
use crate::memory::slab::Slot;
use crate::memory::step::{Fault, NONE, Step};

const PIECE: usize = 27;
/// Names have 255 bytes at most.
const LONGEST: usize = 255;
pub(super) const MOST_PIECES: usize = LONGEST.div_ceil(PIECE);

/// A piece of a name.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Text {
    /// The next piece; of a free slot, the next free one.
    next: u32,
    /// 0: a free slot.
    length: u8,
    bytes: [u8; PIECE],
}

impl Slot for Text {
    type Beside = ();
    const CHAIN: u32 = 1;

    fn next(&self) -> u32 {
        self.next
    }
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
    fn is_live(&self, _: &()) -> bool {
        self.length > 0
    }
    fn key(&self, _: &()) -> Option<u64> {
        None
    }
}

/// What a name is called, and what it belongs to: of an account, the tenant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Label {
    pub scope: Option<Box<str>>,
    pub name: Box<str>,
}

impl Label {
    pub(super) fn pieces(&self) -> usize {
        let pieces = |text: &str| text.len().div_ceil(PIECE);
        pieces(&self.name) + self.scope.as_deref().map_or(0, pieces)
    }
}

impl Figures<'_> {
    /// Stores a text; NONE if there is no room.
    pub(super) fn store_text(&mut self, text: &str) -> Step<u32> {
        let mut first = NONE;
        for piece in text.as_bytes().chunks(PIECE).rev() {
            let mut bytes = [0; PIECE];
            for (to, from) in bytes.iter_mut().zip(piece) {
                *to = *from;
            }
            let text = Text {
                next: first,
                length: u8::try_from(piece.len()).unwrap_or(0),
                bytes,
            };
            match self.texts.insert(text, None) {
                Ok(at) => first = at,
                Err(Fault::Full) => {
                    self.drop_text(first)?;
                    return Ok(NONE);
                }
                Err(fault) => return Err(fault),
            }
        }
        Ok(first)
    }

    pub(super) fn drop_text(&mut self, first: u32) -> Step<()> {
        let mut at = first;
        for _ in 0..MOST_PIECES {
            if at == NONE {
                return Ok(());
            }
            let next = self.texts.get(at)?.next;
            self.texts.remove(at, None)?;
            at = next;
        }
        match at {
            NONE => Ok(()),
            _ => Err(Fault::Corrupt("a name is too long")),
        }
    }

    pub(super) fn text(&self, first: u32) -> Step<Box<str>> {
        let mut bytes = Vec::with_capacity(PIECE);
        let mut at = first;
        for _ in 0..MOST_PIECES {
            if at == NONE {
                break;
            }
            let piece = self.texts.get(at)?;
            bytes.extend(piece.bytes.iter().take(piece.length.into()));
            at = piece.next;
        }
        let text = String::from_utf8(bytes).map_err(|_| Fault::Corrupt("a name is no text"))?;
        Ok(text.into())
    }
}
