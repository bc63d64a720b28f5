//! What names are called: chains of short pieces, since most names are short and some are not.

use super::{Figures, KINDS};
use crate::memory::gate::GateKind;
use crate::memory::slab::chained_slot;
use crate::memory::step::{Fault, NONE, Step};
use smallvec::SmallVec;

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

chained_slot!(Text, live: |text| text.length > 0, key: |_| None);

/// What a name is called, and what it belongs to: of an account, the tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label<'a> {
    pub scope: Option<&'a str>,
    pub name: &'a str,
}

impl Label<'_> {
    pub(super) fn pieces(&self) -> usize {
        let pieces = |text: &str| text.len().div_ceil(PIECE);
        pieces(self.name) + self.scope.map_or(0, pieces)
    }
}

/// What the names of a job are called, one behind the other. Few need memory of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    text: SmallVec<[u8; 32]>,
    /// By the order of [`KINDS`]; 0: it has none.
    lengths: [u8; KINDS.len()],
}

impl Labels {
    /// By the order of [`KINDS`].
    pub fn of(names: [Option<&str>; KINDS.len()]) -> Self {
        let length = |name: &str| u8::try_from(name.len()).unwrap_or(0);
        let lengths = names.map(|name| name.map_or(0, length));
        let mut text = SmallVec::new();
        for (name, length) in names.into_iter().zip(lengths) {
            if length > 0 {
                text.extend_from_slice(name.unwrap_or_default().as_bytes());
            }
        }
        Self { text, lengths }
    }

    pub fn get(&self, kind: GateKind) -> Option<Label<'_>> {
        Some(Label {
            scope: match kind {
                GateKind::Account => self.name(GateKind::Tenant),
                _ => None,
            },
            name: self.name(kind)?,
        })
    }

    fn name(&self, kind: GateKind) -> Option<&str> {
        let mut from = 0;
        for (known, length) in KINDS.into_iter().zip(self.lengths) {
            let end = from + usize::from(length);
            if known == kind && length > 0 {
                return str::from_utf8(self.text.get(from..end)?).ok();
            }
            from = end;
        }
        None
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
