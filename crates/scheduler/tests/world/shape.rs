//! How large a world is and what happens in it.

use rand::Rng;
use rand::rngs::SmallRng;
use turnstile_scheduler::{Capacity, EVERY_QUEUE, LaneSpec};

#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub queues: u64,
    pub tenants: u64,
    pub accounts: u64,
    pub sessions: u64,
    pub keys: u64,
    pub uniques: u64,
    pub priorities: i32,
    /// Live jobs that the producers aim at.
    pub jobs: usize,
    /// Transactions that may be open at a time.
    pub transactions: usize,
    pub capacity: Capacity,
    /// Direct changes of rows, and rows locked by transactions that do not claim.
    pub meddling: bool,
    pub resets: bool,
    /// Queues may share by weight.
    pub fairness: bool,
    /// Jobs may gain priority as they wait.
    pub ageing: bool,
    /// Rates, and pauses that end by themselves.
    pub clocks: bool,
    /// Whether the scheduler checks itself after each step, besides the checks from outside.
    pub audits: bool,
}

const AMPLE: Capacity = Capacity {
    lanes: 2_000,
    nodes: 2_000,
    gates: 1_000,
    reservations: 200,
    shares: 2_000,
    samples: 10_000,
};

/// As many as the jobs of a small world can have.
const ENOUGH_GATES: usize = 400;

impl Shape {
    pub fn random(rng: &mut SmallRng) -> Self {
        let mut shape = Self {
            queues: rng.random_range(1..=3),
            tenants: rng.random_range(0..=4),
            accounts: rng.random_range(0..=3),
            sessions: [0, 1, 3][rng.random_range(0..3)],
            keys: rng.random_range(0..=2),
            uniques: [0, 0, 3][rng.random_range(0..3)],
            priorities: rng.random_range(1..=3),
            jobs: [10, 40, 120][rng.random_range(0..3)],
            transactions: rng.random_range(1..=6),
            capacity: AMPLE,
            meddling: rng.random_bool(0.7),
            resets: rng.random_bool(0.5),
            fairness: rng.random_bool(0.5),
            ageing: rng.random_bool(0.5),
            clocks: rng.random_bool(0.5),
            audits: true,
        };
        if rng.random_bool(0.25) {
            shape = shape.of_sessions(rng);
        }
        if rng.random_bool(0.25) {
            shape.capacity = Capacity {
                lanes: rng.random_range(2..=12),
                nodes: 70,
                gates: ENOUGH_GATES,
                reservations: 6,
                shares: 2_000,
                samples: 2_000,
            };
        } else if rng.random_bool(0.15) {
            let most = shape.gates().max(16);
            shape.capacity.gates = rng.random_range(12.max(most / 2)..most);
        }
        if rng.random_bool(0.3) {
            shape.capacity.samples = rng.random_range(4..=24);
        }
        if rng.random_bool(0.2) {
            shape.capacity.shares = rng.random_range(4..=12);
        }
        shape
    }

    /// Few sessions, whose lanes differ in their gates.
    fn of_sessions(self, rng: &mut SmallRng) -> Self {
        Self {
            queues: 1,
            tenants: rng.random_range(0..=1),
            accounts: rng.random_range(0..=1),
            sessions: rng.random_range(1..=2),
            keys: 2,
            uniques: rng.random_range(0..=2),
            priorities: rng.random_range(1..=2),
            jobs: 12,
            ..self
        }
    }

    /// Far more lanes than fit, of jobs that come and go in many transactions at once.
    pub fn crowded(rng: &mut SmallRng) -> Self {
        Self {
            queues: 1,
            tenants: rng.random_range(2..=4),
            accounts: 1,
            jobs: 40,
            transactions: 12,
            capacity: Capacity {
                lanes: rng.random_range(2..=4),
                ..AMPLE
            },
            meddling: false,
            resets: false,
            fairness: false,
            ageing: false,
            clocks: false,
            ..Self::nested()
        }
    }

    /// Three queues, four tenants with three accounts each, nothing else.
    pub fn nested() -> Self {
        Self {
            queues: 3,
            tenants: 4,
            accounts: 3,
            sessions: 0,
            keys: 0,
            uniques: 0,
            priorities: 1,
            jobs: 60,
            transactions: 4,
            capacity: AMPLE,
            meddling: false,
            resets: false,
            fairness: true,
            ageing: false,
            clocks: true,
            audits: true,
        }
    }

    fn gates(&self) -> usize {
        let tenancies = 1 + self.tenants;
        let gates = self.queues * (1 + tenancies * self.sessions)
            + self.tenants * (1 + self.accounts)
            + self.keys
            + self.uniques;
        gates as usize
    }

    /// Some lanes may find no slot, or some gates be forgotten while idle.
    pub fn is_tight(&self) -> bool {
        self.capacity.lanes < AMPLE.lanes || self.capacity.gates < AMPLE.gates
    }

    /// Whatever runs, a lane can be made.
    pub fn has_ample_gates(&self) -> bool {
        self.capacity.gates >= ENOUGH_GATES
    }

    pub fn any_queue(&self, rng: &mut SmallRng) -> u64 {
        rng.random_range(1..=self.queues)
    }

    /// What a claim may ask for: one queue or all of them.
    pub fn any_claimed_queue(&self, rng: &mut SmallRng) -> u64 {
        match rng.random_bool(0.2) {
            true => EVERY_QUEUE,
            false => self.any_queue(rng),
        }
    }

    /// Keys of different kinds are equal on purpose: the scheduler has to tell them apart.
    pub fn any_spec(&self, rng: &mut SmallRng) -> LaneSpec {
        let queue = self.any_queue(rng);
        let tenant = rng.random_range(0..=self.tenants);
        let account = match tenant {
            0 => 0,
            _ => scoped(tenant, rng.random_range(0..=self.accounts)),
        };
        let session = scoped(queue * 8 + tenant, rng.random_range(0..=self.sessions));
        lane_of(LaneSpec {
            lane: 0,
            queue,
            tenant,
            account,
            session,
            concurrency: rng.random_range(0..=self.keys),
            unique: rng.random_range(0..=self.uniques),
            priority: rng.random_range(0..self.priorities),
        })
    }
}

/// 0 stays "none".
pub fn scoped(scope: u64, number: u64) -> u64 {
    match number {
        0 => 0,
        _ => scope * 8 + number,
    }
}

/// The same spec under the hash of its fields.
pub fn lane_of(spec: LaneSpec) -> LaneSpec {
    let fields = [
        spec.queue,
        spec.tenant,
        spec.account,
        spec.session,
        spec.concurrency,
        spec.unique,
        u64::from(spec.priority.unsigned_abs()),
    ];
    let lane = fields.iter().fold(0xCBF2_9CE4_8422_2325, |hash, field| {
        (hash ^ field)
            .wrapping_mul(0x0000_0100_0000_01B3)
            .rotate_left(17)
    });
    LaneSpec { lane, ..spec }
}
