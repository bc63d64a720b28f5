//! Times, in microseconds, as PostgreSQL counts them.

pub const SECOND: i64 = 1_000_000;
pub const MINUTE: i64 = 60 * SECOND;
/// A time that never comes.
pub const NEVER: i64 = i64::MAX;
