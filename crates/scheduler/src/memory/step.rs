//! What a step returns.

/// Why a step could not be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An invariant is broken: the memory must be rebuilt from the tables.
    Corrupt(&'static str),
    /// The arrays are full. The step may be half done, so the memory must be rebuilt, as after damage.
    Full,
}

pub type Step<T> = Result<T, Fault>;

/// The index that stands for "none" in every array. Slot 0 is never handed out.
pub(crate) const NONE: u32 = 0;
