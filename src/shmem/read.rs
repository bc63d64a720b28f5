//! What backends have read of routes, settings and the catalog, for those that come later: to read it is most of what the first calls
//! of a connection cost. Nothing relies on its being here.

use crate::pg::seeded::{Seeded, armed};
use pgrx::datum::Interval;

/// A queue has one of these by its key, which is a hash.
const PLACES: usize = 32;
/// Conditions of indexes that can be known.
const CONDITIONS: usize = 8;
/// Objects of the extension that can be known, more than those that are looked up by name: tables, sequences and a function.
const OBJECTS: usize = 32;

/// What is set for a queue, by its row or by the row `*`.
#[derive(Clone, Copy, Debug)]
pub struct QueueSettings {
    pub max_attempts: i32,
    pub lease: Interval,
    pub keeps_no_completed: bool,
    pub durable_claims: bool,
}

#[repr(C)]
#[derive(Debug, Default)]
pub struct Read {
    /// Of the extension's indexes, the numbers of conditions that were found to be what they should.
    conditions: [Option<u64>; CONDITIONS],
    /// Objects that were found to belong to the extension.
    own: [Option<u64>; OBJECTS],
    /// The version of the bounds of backlogs in which there are none.
    unbounded: u64,
    /// What follows was read while routes and settings had this version.
    version: u64,
    has_no_routes: bool,
    queues: [Option<(u64, QueueSettings)>; PLACES],
}

impl Read {
    pub fn has_no_routes(&self, version: u64) -> bool {
        self.is_of(version) && self.has_no_routes
    }

    pub fn has_no_bounds(&self, version: u64) -> bool {
        self.unbounded == version
    }

    pub fn queue(&self, version: u64, queue: u64) -> Option<QueueSettings> {
        let (known, settings) = (*self.queues.get(place(queue))?)?;
        (self.is_of(version) && known == queue).then_some(settings)
    }

    pub fn condition(&self, index: usize) -> Option<u64> {
        *self.conditions.get(index)?
    }

    pub(super) fn note_condition(&mut self, index: usize, number: u64) {
        if let Some(known) = self.conditions.get_mut(index) {
            *known = Some(number);
        }
    }

    pub fn is_own(&self, object: u64) -> bool {
        self.own.contains(&Some(object))
    }

    pub(super) fn note_own(&mut self, object: u64) {
        let mut free = self.own.iter_mut();
        if let Some(free) = free.find(|known| known.is_none_or(|known| known == object)) {
            *free = Some(object);
        }
    }

    pub fn note_no_routes(&mut self, version: u64) {
        self.begin(version);
        self.has_no_routes = true;
    }

    pub fn note_no_bounds(&mut self, version: u64) {
        self.unbounded = version;
    }

    pub fn note_queue(&mut self, version: u64, queue: u64, settings: QueueSettings) {
        self.begin(version);
        if let Some(known) = self.queues.get_mut(place(queue)) {
            *known = Some((queue, settings));
        }
    }

    fn is_of(&self, version: u64) -> bool {
        self.version == version || armed(Seeded::KeepSharedSettings)
    }

    fn begin(&mut self, version: u64) {
        if self.version != version {
            *self = Self {
                version,
                unbounded: self.unbounded,
                conditions: self.conditions,
                own: self.own,
                ..Self::default()
            };
        }
    }
}

fn place(queue: u64) -> usize {
    (queue % PLACES as u64) as usize
}
