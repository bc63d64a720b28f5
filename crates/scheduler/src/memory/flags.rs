//! Yes-or-no fields, eight in a byte.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bits(pub u8);

impl Bits {
    pub const fn has(self, bit: u8) -> bool {
        self.0 & bit != 0
    }

    pub fn set(&mut self, bit: u8, on: bool) {
        match on {
            true => self.0 |= bit,
            false => self.0 &= !bit,
        }
    }
}
