//! Ended jobs for who follows them: each once, soon after it is committed. Times of ending are not in the order of commits, so a
//! place in the history is a set of transactions. See docs/decisions/047-a-place-in-the-history.md.

mod cursor;
mod known;
mod read;
mod since;

pub use cursor::Cursor;
pub use read::{Reader, Start};
