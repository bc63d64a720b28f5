//! The scheduler's arrays, as vectors.

use turnstile_scheduler::{
    Capacity, Entry, Fault, Gate, Header, Lane, Memory, Meter, Node, Pools, Reservation, Sample,
    Scheduler, Share,
};

use super::Checked;

pub struct Arena {
    pub capacity: Capacity,
    header: Header,
    pools: Pools,
    entries: Vec<Entry>,
    lanes: Vec<Lane>,
    lane_buckets: Vec<u32>,
    nodes: Vec<Node>,
    node_buckets: Vec<u32>,
    gates: Vec<Gate>,
    gate_buckets: Vec<u32>,
    meters: Vec<Meter>,
    meter_buckets: Vec<u32>,
    timers: Vec<u32>,
    shares: Vec<Share>,
    share_buckets: Vec<u32>,
    calendar: Vec<Sample>,
    reservations: Vec<Reservation>,
    reservation_buckets: Vec<u32>,
}

impl Arena {
    pub fn new(capacity: Capacity) -> Self {
        Self {
            capacity,
            header: Header::default(),
            pools: Pools::default(),
            entries: vec![Entry::default(); capacity.entries()],
            lanes: vec![Lane::default(); capacity.lane_slots()],
            lane_buckets: vec![0; capacity.lane_buckets()],
            nodes: vec![Node::default(); capacity.nodes],
            node_buckets: vec![0; capacity.node_buckets()],
            gates: vec![Gate::default(); capacity.gates],
            gate_buckets: vec![0; capacity.gate_buckets()],
            meters: vec![Meter::default(); capacity.gates],
            meter_buckets: vec![0; capacity.meter_buckets()],
            timers: vec![0; capacity.gates],
            shares: vec![Share::default(); capacity.shares],
            share_buckets: vec![0; capacity.share_buckets()],
            calendar: vec![Sample::default(); capacity.samples],
            reservations: vec![Reservation::default(); capacity.reservations],
            reservation_buckets: vec![0; capacity.reservation_buckets()],
        }
    }

    pub fn scheduler(&mut self) -> Scheduler<'_> {
        Scheduler::new(Memory {
            header: &mut self.header,
            pools: &mut self.pools,
            entries: &mut self.entries,
            lanes: &mut self.lanes,
            lane_buckets: &mut self.lane_buckets,
            nodes: &mut self.nodes,
            node_buckets: &mut self.node_buckets,
            gates: &mut self.gates,
            gate_buckets: &mut self.gate_buckets,
            meters: &mut self.meters,
            meter_buckets: &mut self.meter_buckets,
            timers: &mut self.timers,
            shares: &mut self.shares,
            share_buckets: &mut self.share_buckets,
            calendar: &mut self.calendar,
            reservations: &mut self.reservations,
            reservation_buckets: &mut self.reservation_buckets,
        })
    }

    /// Damage of the sort that a crash in the middle of a step leaves: all but the reservations.
    pub fn scribble(&mut self, noise: u32) {
        let last = u32::try_from(self.entries.len()).unwrap_or(1) - 1;
        self.entries.rotate_left(noise as usize % last as usize);
        self.gates.reverse();
        self.lanes.reverse();
        self.nodes.reverse();
        self.meters.reverse();
        self.timers.fill(noise % last);
        for (at, bucket) in self.lane_buckets.iter_mut().enumerate() {
            *bucket = (at as u32).wrapping_mul(noise) % last;
        }
        self.shares.reverse();
        self.calendar.reverse();
        for buckets in [
            &mut self.node_buckets,
            &mut self.gate_buckets,
            &mut self.meter_buckets,
            &mut self.reservation_buckets,
            &mut self.share_buckets,
        ] {
            buckets.fill(noise % last);
        }
        self.pools = Pools::default();
    }
}

/// Names the step at which the scheduler found a fault.
pub trait At<T> {
    fn at(self, step: &str) -> Checked<T>;
}

impl<T> At<T> for Result<T, Fault> {
    fn at(self, step: &str) -> Checked<T> {
        self.map_err(|fault| format!("{fault:?} in {step}"))
    }
}
