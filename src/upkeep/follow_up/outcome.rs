//! What statements say that has become of dependencies.

use crate::pg::error::Result;
use crate::pg::word::read;

/// Of one whose predecessor is to be marked.
#[derive(Clone, Copy)]
pub enum Telling {
    Told,
    /// Another transaction has locked it, or the predecessor.
    Busy,
    /// Its predecessor lives no more.
    Ended,
}

/// What the end of its predecessor means to the job.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Meeting {
    /// The job waits for it no more.
    Met,
    /// The job is to be discarded.
    Failed,
    /// The job waits on.
    Held,
    /// Another transaction has locked it, or the job.
    Busy,
}

impl Telling {
    pub fn read(word: &str) -> Result<Self> {
        let known = [
            ("told", Self::Told),
            ("busy", Self::Busy),
            ("ended", Self::Ended),
        ];
        read(word, known)
    }
}

impl Meeting {
    pub fn read(word: &str) -> Result<Self> {
        let known = [
            ("met", Self::Met),
            ("failed", Self::Failed),
            ("held", Self::Held),
            ("busy", Self::Busy),
        ];
        read(word, known)
    }
}
