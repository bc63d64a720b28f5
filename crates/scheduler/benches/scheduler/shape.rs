//! The lanes that a load runs over.

use turnstile_scheduler::{GateKind, LaneSpec, Limit};

#[derive(Clone, Copy)]
pub struct Shape {
    pub name: &'static str,
    /// Lanes that share a tenant; each is a session of it unless it is the only one.
    lanes_a_tenant: usize,
    /// What a claim leaves of a lane: the next job, or nothing, so that each lane comes and goes.
    pub goes_on: bool,
}

pub const SHAPES: [Shape; 3] = [
    Shape {
        name: "a lane a tenant",
        lanes_a_tenant: 1,
        goes_on: true,
    },
    Shape {
        name: "a lane a session",
        lanes_a_tenant: 100,
        goes_on: true,
    },
    Shape {
        name: "a session a job",
        lanes_a_tenant: 100,
        goes_on: false,
    },
];

pub const QUEUE: u64 = 1;
const SLOTS: u32 = 80;

impl Shape {
    pub fn lanes(&self, count: usize) -> Vec<LaneSpec> {
        // Tenants take turns, so that a claim meets another gate than the one before it.
        let tenants = count.div_ceil(self.lanes_a_tenant);
        let lane = |number| LaneSpec {
            lane: key(1, number),
            queue: QUEUE,
            tenant: key(2, number % tenants),
            session: match self.lanes_a_tenant {
                1 => 0,
                _ => key(3, number),
            },
            ..LaneSpec::default()
        };
        (0..count).map(lane).collect()
    }
}

/// Keys are hashes in the server, so these must be spread alike.
fn key(kind: u64, number: usize) -> u64 {
    let mut z = (number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (kind << 56);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

pub fn limit(kind: GateKind) -> Limit {
    match kind {
        GateKind::Tenant => Limit::AtMost(SLOTS),
        kind => kind.fixed_limit().unwrap_or(Limit::None),
    }
}
