//! A parent that this transaction has locked against its end, to give it children.

/// What its children need to know of it.
#[derive(Debug, PartialEq, Eq)]
pub struct Parent {
    pub queue: String,
    pub tenant: Option<String>,
    pub account: Option<String>,
    /// That of its children.
    pub priority: i32,
    /// Its children may start.
    pub is_open: bool,
    /// The job and those that wait for it.
    pub line: Vec<i64>,
    /// Its own session and those of the jobs that wait for it, by their keys.
    pub sessions: Vec<u64>,
    /// All of the line stays where it is until the transaction ends, not only the job.
    pub is_line_locked: bool,
}
