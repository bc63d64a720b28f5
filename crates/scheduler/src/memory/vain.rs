//! When queues were last claimed from that have no gate, because nothing waits or runs there.

/// Queues that are known. Two may share a place, and then the later one has it.
const QUEUES: usize = 64;

#[derive(Clone, Copy, Debug)]
pub(crate) struct VainClaims {
    claims: [VainClaim; QUEUES],
}

#[derive(Clone, Copy, Debug, Default)]
struct VainClaim {
    queue: u64,
    at: i64,
}

impl Default for VainClaims {
    fn default() -> Self {
        Self {
            claims: [VainClaim::default(); QUEUES],
        }
    }
}

impl VainClaims {
    pub(crate) fn note(&mut self, queue: u64, now: i64) {
        if let Some(place) = self.claims.get_mut(place_of(queue)) {
            *place = VainClaim { queue, at: now };
        }
    }

    /// Whether the queue was claimed from after this time.
    pub(crate) fn is_after(&self, queue: u64, time: i64) -> bool {
        let claim = self.claims.get(place_of(queue));
        claim.is_some_and(|claim| claim.queue == queue && claim.at > time)
    }
}

fn place_of(queue: u64) -> usize {
    usize::try_from(queue % QUEUES as u64).unwrap_or(0)
}
