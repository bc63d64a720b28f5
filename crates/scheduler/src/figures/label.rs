//! What names are called, as the caller tells it.

use super::kinds::KINDS;
use super::text::PIECE;
use crate::memory::gate::GateKind;
use smallvec::SmallVec;

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
