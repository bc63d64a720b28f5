//! How a look at jobs ended.

/// What a page does not show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    Nothing,
    /// The page is full, and there may be more before this id.
    More(i64),
    /// Time was up: nothing is known of jobs before this id.
    Unknown(i64),
    /// Time was up: so many run that were not found.
    Unread(i64),
}
