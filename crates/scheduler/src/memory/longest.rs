//! How long names can be.

/// Bytes of the longest name: of a queue, a kind, a tenant, a key and the like. The tables have it as a CHECK.
pub const LONGEST_NAME: usize = 255;
