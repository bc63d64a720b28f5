//! Places of live pages: how many there may be at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::identity::Identity;

const MOST: usize = 500;
const MOST_OF_ONE: usize = 200;

/// How many pages may be live at once: of all, and of those with the same identity, so that one viewer leaves some to others.
pub struct Places {
    pub began: Instant,
    all: Arc<Semaphore>,
    each: Mutex<HashMap<Identity, Arc<Semaphore>>>,
}

/// One of each.
pub struct Place {
    _of_all: OwnedSemaphorePermit,
    _of_identity: OwnedSemaphorePermit,
}

impl Default for Places {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            all: Arc::new(Semaphore::new(MOST)),
            each: Mutex::default(),
        }
    }
}

impl Places {
    pub fn take(&self, identity: &Identity) -> Option<Place> {
        let of_all = Arc::clone(&self.all).try_acquire_owned().ok()?;
        let mut each = self.each.lock().unwrap_or_else(PoisonError::into_inner);
        each.retain(|_, places| Arc::strong_count(places) > 1);
        let places = each
            .entry(identity.clone())
            .or_insert_with(|| Arc::new(Semaphore::new(MOST_OF_ONE)));
        let of_identity = Arc::clone(places).try_acquire_owned().ok()?;
        Some(Place {
            _of_all: of_all,
            _of_identity: of_identity,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_viewer_leaves_places_to_others() {
        let places = Places::default();
        let of = |role: &str| places.take(&Identity::Role(role.into()));
        let taken: Vec<Option<Place>> = (0..MOST_OF_ONE).map(|_| of("ann")).collect();
        assert!(taken.iter().all(Option::is_some) && of("ann").is_none());
        assert!(of("bob").is_some());
        drop(taken);
        assert!(of("ann").is_some());
        assert_eq!(places.all.available_permits(), MOST);
    }
}
