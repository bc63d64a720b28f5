//! How many connections the requests of one role have at most, so that those of others find one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::connection::Failure;

/// How long a request waits for others of its role.
const TURN: Duration = Duration::from_secs(5);
const REMEMBERED: usize = 1_000;

pub struct Shares {
    each: usize,
    roles: Mutex<HashMap<String, Arc<Semaphore>>>,
}

impl Shares {
    /// Half of the connections, but one at least.
    pub fn of_connections(connections: usize) -> Self {
        Self {
            each: connections.div_ceil(2),
            roles: Mutex::default(),
        }
    }

    /// Until what is returned is dropped.
    pub async fn of(&self, role: &str) -> Result<OwnedSemaphorePermit, Failure> {
        match tokio::time::timeout(TURN, self.share(role).acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(Failure::Busy),
        }
    }

    fn share(&self, role: &str) -> Arc<Semaphore> {
        let mut roles = self.roles.lock().unwrap_or_else(PoisonError::into_inner);
        // A proxy may name any role. One that nobody asks for has nothing to remember.
        if roles.len() >= REMEMBERED {
            roles.retain(|_, share| Arc::strong_count(share) > 1);
        }
        let share = roles
            .entry(role.to_owned())
            .or_insert_with(|| Arc::new(Semaphore::new(self.each)));
        Arc::clone(share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_role_leaves_some_to_others() {
        let shares = Shares::of_connections(3);
        let left = |role: &str| shares.share(role).available_permits();
        let held = [
            shares.of("shop").await.unwrap(),
            shares.of("shop").await.unwrap(),
        ];
        assert_eq!((left("shop"), left("other")), (0, 2));
        drop(held);
        assert_eq!(left("shop"), 2);
        assert_eq!(Shares::of_connections(1).each, 1);
    }

    #[tokio::test]
    async fn roles_are_forgotten_that_hold_nothing() {
        let shares = Shares::of_connections(4);
        let held = shares.of("held").await.unwrap();
        for role in 0..REMEMBERED * 2 {
            drop(shares.of(&role.to_string()).await.unwrap());
        }
        assert!(shares.roles.lock().unwrap().len() <= REMEMBERED);
        assert_eq!(shares.share("held").available_permits(), 1);
        drop(held);
    }
}
