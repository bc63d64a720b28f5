//! Texts are stored, read and dropped piece by piece.

use super::memory::Figures;
use super::text::{MOST_PIECES, PIECE, Text};
use crate::memory::step::{Fault, NONE, Step};

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
