//! What a claim tells of the worker that makes it.

/// Something of a claim has just happened.
#[derive(Clone, Copy, Debug)]
pub struct Sighting<'a> {
    /// The hash of the whole name; not 0.
    pub key: u64,
    /// None: it has not said how it is called.
    pub name: Option<&'a [u8]>,
    pub queue: u64,
    /// Claims that were not noted yet, and jobs.
    pub claims: u64,
    pub jobs: u64,
    pub now: i64,
}
