//! What something is called, in bytes of the server's encoding.

/// A name of up to so many bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Name<const LONGEST: usize> {
    length: u8,
    bytes: [u8; LONGEST],
}

impl<const LONGEST: usize> Name<LONGEST> {
    pub const EMPTY: Self = Self {
        length: 0,
        bytes: [0; LONGEST],
    };

    /// What does not fit is left out: the caller cuts between two characters.
    pub fn set(&mut self, name: &[u8]) {
        let most = LONGEST.min(usize::from(u8::MAX));
        let name = name.get(..most).unwrap_or(name);
        if let Some(place) = self.bytes.get_mut(..name.len()) {
            place.copy_from_slice(name);
        }
        self.length = u8::try_from(name.len()).unwrap_or(u8::MAX);
    }

    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    pub fn get(&self) -> &[u8] {
        self.bytes.get(..self.length.into()).unwrap_or_default()
    }
}

impl<const LONGEST: usize> Default for Name<LONGEST> {
    fn default() -> Self {
        Self::EMPTY
    }
}
