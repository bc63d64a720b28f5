//! How large a world is and what happens in it.

use rand::Rng;
use rand::rngs::SmallRng;
use turnstile_scheduler::{Capacity, EVERY_QUEUE, GateKind, LaneSpec};

#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub queues: u64,
    pub tenants: u64,
    pub accounts: u64,
    pub sessions: u64,
    pub keys: u64,
    pub uniques: u64,
    pub batches: u64,
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
    pub aging: bool,
    /// Rates, and pauses that end by themselves.
    pub clocks: bool,
    /// Most statements change settings.
    pub restless: bool,
    /// The arrays grow as they are needed, and shrink.
    pub elastic: bool,
    /// Queues, and tenants of queues, that can be known to have lanes outside.
    pub records: usize,
    /// Groups of different queues are the same range of the table.
    pub shares_groups: bool,
    /// Whether the scheduler checks itself after each step, besides the checks from outside.
    pub audits: bool,
}

const AMPLE: Capacity = Capacity {
    lanes: 2_001,
    nodes: 2_000,
    gates: 1_000,
    meters: 1_000,
    reservations: 200,
    shares: 2_000,
    due: 64,
    leases: 64,
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
            batches: [0, 0, 2][rng.random_range(0..3)],
            priorities: rng.random_range(1..=3),
            jobs: [10, 40, 120][rng.random_range(0..3)],
            transactions: rng.random_range(1..=6),
            capacity: AMPLE,
            meddling: rng.random_bool(0.7),
            resets: rng.random_bool(0.5),
            fairness: rng.random_bool(0.5),
            aging: rng.random_bool(0.5),
            clocks: rng.random_bool(0.5),
            restless: false,
            elastic: rng.random_bool(0.2),
            records: rng.random_range(1..=12),
            shares_groups: rng.random_bool(0.3),
            audits: true,
        };
        if rng.random_bool(0.25) {
            shape = shape.of_sessions(rng);
        }
        if shape.elastic {
            return shape;
        }
        if rng.random_bool(0.25) {
            shape.capacity = Capacity {
                lanes: rng.random_range(3..=13),
                nodes: 70,
                gates: ENOUGH_GATES,
                meters: ENOUGH_GATES,
                reservations: 6,
                shares: 2_000,
                due: 64,
                leases: 64,
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

    /// Arrays that grow from nothing.
    pub fn elastic(rng: &mut SmallRng) -> Self {
        Self {
            capacity: AMPLE,
            elastic: true,
            ..Self::random(rng)
        }
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
            batches: rng.random_range(0..=2),
            priorities: rng.random_range(1..=2),
            jobs: 12,
            ..self
        }
    }

    /// Many batches, with and without sessions and keys that they share.
    pub fn of_batches(rng: &mut SmallRng) -> Self {
        Self {
            queues: rng.random_range(1..=2),
            tenants: rng.random_range(0..=2),
            accounts: rng.random_range(0..=2),
            sessions: rng.random_range(0..=2),
            keys: rng.random_range(0..=2),
            uniques: rng.random_range(0..=2),
            batches: rng.random_range(2..=12),
            ..Self::random(rng)
        }
    }

    /// Few names, whose rates change all the time, and gates that are forgotten now and then.
    pub fn changing_rates(rng: &mut SmallRng) -> Self {
        Self {
            queues: 2,
            tenants: rng.random_range(1..=5),
            accounts: rng.random_range(0..=1),
            keys: rng.random_range(0..=2),
            jobs: 12,
            capacity: Capacity {
                gates: [8, 12, AMPLE.gates][rng.random_range(0..3)],
                ..AMPLE
            },
            resets: rng.random_bool(0.3),
            fairness: false,
            restless: true,
            ..Self::nested()
        }
    }

    /// Far more lanes than fit, of jobs that come and go in many transactions at once.
    pub fn crowded(rng: &mut SmallRng) -> Self {
        Self {
            queues: rng.random_range(1..=2),
            records: rng.random_range(1..=12),
            tenants: rng.random_range(2..=4),
            accounts: 1,
            jobs: 40,
            transactions: 12,
            capacity: Capacity {
                lanes: rng.random_range(3..=5),
                ..AMPLE
            },
            meddling: false,
            resets: false,
            fairness: false,
            aging: false,
            clocks: false,
            ..Self::nested()
        }
    }

    /// Queues that differ in all that decides which of them is next.
    pub fn many_queues(rng: &mut SmallRng) -> Self {
        Self {
            queues: rng.random_range(8..=40),
            tenants: rng.random_range(0..=3),
            accounts: rng.random_range(0..=1),
            sessions: [0, 0, 1][rng.random_range(0..3)],
            keys: rng.random_range(0..=2),
            batches: [0, 0, 2][rng.random_range(0..3)],
            priorities: rng.random_range(1..=2),
            jobs: [40, 120][rng.random_range(0..2)],
            meddling: rng.random_bool(0.3),
            resets: rng.random_bool(0.5),
            fairness: rng.random_bool(0.7),
            aging: rng.random_bool(0.7),
            clocks: rng.random_bool(0.5),
            ..Self::nested()
        }
    }

    pub fn has_many_queues(&self) -> bool {
        self.queues >= 8
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
            batches: 0,
            priorities: 1,
            jobs: 60,
            transactions: 4,
            capacity: AMPLE,
            meddling: false,
            resets: false,
            fairness: true,
            aging: false,
            clocks: true,
            restless: false,
            elastic: false,
            records: 100,
            shares_groups: false,
            audits: true,
        }
    }

    fn gates(&self) -> usize {
        let tenancies = 1 + self.tenants;
        let gates = self.queues * (1 + tenancies * self.sessions)
            + self.tenants * (1 + self.accounts)
            + self.keys
            + self.uniques
            + self.batches;
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

    /// The keys of the queues.
    pub fn queue_keys(&self) -> impl Iterator<Item = u64> + use<> {
        let apart = match self.shares_groups {
            true => 1,
            false => (1 << 32) + 1,
        };
        (1..=self.queues).map(move |number| number * apart)
    }

    pub fn any_queue(&self, rng: &mut SmallRng) -> u64 {
        let number = rng.random_range(0..self.queues as usize);
        self.queue_keys().nth(number).unwrap_or(EVERY_QUEUE)
    }

    /// What a claim may ask for: one queue or all of them.
    pub fn any_claimed_queue(&self, rng: &mut SmallRng) -> u64 {
        let from_all = if self.has_many_queues() { 0.7 } else { 0.2 };
        match rng.random_bool(from_all) {
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
            batch: rng.random_range(0..=self.batches),
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
    let keys = GateKind::ALL.map(|kind| spec.key_of(kind));
    let priority = u64::from(spec.priority.unsigned_abs());
    let fields = keys.into_iter().chain([priority]);
    let lane = fields.fold(0xCBF2_9CE4_8422_2325, |hash, field| {
        (hash ^ field)
            .wrapping_mul(0x0000_0100_0000_01B3)
            .rotate_left(17)
    });
    LaneSpec { lane, ..spec }
}
