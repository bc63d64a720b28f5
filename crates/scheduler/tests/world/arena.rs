//! The scheduler's arrays, as vectors.

use turnstile_scheduler::{
    Array, Capacity, DueQueue, Entry, Fault, Gate, Header, Lane, Lease, Memory, Meter, Node,
    OUTSIDE_RECORDS, Outside, Pools, Reservation, Sample, Scheduler, Share,
};

use super::Checked;

#[derive(Default)]
pub struct Arena {
    pub capacity: Capacity,
    header: Header,
    pools: Pools,
    lanes: Vec<Lane>,
    lane_entries: Vec<Entry>,
    lane_buckets: Vec<u32>,
    nodes: Vec<Node>,
    node_entries: Vec<Entry>,
    node_buckets: Vec<u32>,
    gates: Vec<Gate>,
    gate_buckets: Vec<u32>,
    meters: Vec<Meter>,
    meter_buckets: Vec<u32>,
    timers: Vec<u32>,
    shares: Vec<Share>,
    share_buckets: Vec<u32>,
    due: Vec<DueQueue>,
    due_buckets: Vec<u32>,
    due_order: Vec<u32>,
    leases: Vec<Lease>,
    lease_buckets: Vec<u32>,
    calendar: Vec<Sample>,
    reservations: Vec<Reservation>,
    reservation_buckets: Vec<u32>,
    outside: Vec<Outside>,
    outside_buckets: Vec<u32>,
}

impl Arena {
    pub fn new(capacity: Capacity) -> Self {
        Self::with_records(capacity, OUTSIDE_RECORDS)
    }

    /// As many queues, and tenants of queues, can be known to have lanes outside.
    pub fn with_records(capacity: Capacity, records: usize) -> Self {
        let mut arena = Self {
            outside: vec![Outside::default(); records],
            outside_buckets: vec![0; records],
            ..Self::default()
        };
        arena.resize(capacity);
        arena
    }

    /// Makes each array longer or shorter. New slots are zero.
    pub fn resize(&mut self, capacity: Capacity) {
        fn resize<T: Clone + Default>(array: &mut Vec<T>, slots: usize) {
            array.resize(slots, T::default());
        }
        resize(&mut self.lanes, capacity.lanes);
        resize(&mut self.lane_entries, capacity.lanes);
        resize(&mut self.lane_buckets, capacity.buckets(Array::Lanes));
        resize(&mut self.nodes, capacity.nodes);
        resize(&mut self.node_entries, capacity.nodes);
        resize(&mut self.node_buckets, capacity.buckets(Array::Nodes));
        resize(&mut self.gates, capacity.gates);
        resize(&mut self.gate_buckets, capacity.buckets(Array::Gates));
        resize(&mut self.meters, capacity.meters);
        resize(&mut self.meter_buckets, capacity.buckets(Array::Meters));
        resize(&mut self.timers, capacity.meters);
        resize(&mut self.shares, capacity.shares);
        resize(&mut self.share_buckets, capacity.buckets(Array::Shares));
        resize(&mut self.due, capacity.due);
        resize(&mut self.due_buckets, capacity.buckets(Array::Due));
        resize(&mut self.due_order, capacity.due);
        resize(&mut self.leases, capacity.leases);
        resize(&mut self.lease_buckets, capacity.buckets(Array::Leases));
        resize(&mut self.calendar, capacity.samples);
        resize(&mut self.reservations, capacity.reservations);
        resize(
            &mut self.reservation_buckets,
            capacity.buckets(Array::Reservations),
        );
        self.capacity = capacity;
    }

    /// Adds so many slots to each array.
    pub fn grow(&mut self, by: &Capacity) {
        self.resize(Capacity {
            lanes: self.capacity.lanes + by.lanes,
            nodes: self.capacity.nodes + by.nodes,
            gates: self.capacity.gates + by.gates,
            meters: self.capacity.meters + by.meters,
            shares: self.capacity.shares + by.shares,
            reservations: self.capacity.reservations + by.reservations,
            due: self.capacity.due + by.due,
            leases: self.capacity.leases + by.leases,
            samples: self.capacity.samples + by.samples,
        });
    }

    pub fn scheduler(&mut self) -> Scheduler<'_> {
        Scheduler::new(Memory {
            header: &mut self.header,
            pools: &mut self.pools,
            lanes: &mut self.lanes,
            lane_entries: &mut self.lane_entries,
            lane_buckets: &mut self.lane_buckets,
            nodes: &mut self.nodes,
            node_entries: &mut self.node_entries,
            node_buckets: &mut self.node_buckets,
            gates: &mut self.gates,
            gate_buckets: &mut self.gate_buckets,
            meters: &mut self.meters,
            meter_buckets: &mut self.meter_buckets,
            timers: &mut self.timers,
            shares: &mut self.shares,
            share_buckets: &mut self.share_buckets,
            due: &mut self.due,
            due_buckets: &mut self.due_buckets,
            due_order: &mut self.due_order,
            leases: &mut self.leases,
            lease_buckets: &mut self.lease_buckets,
            calendar: &mut self.calendar,
            reservations: &mut self.reservations,
            reservation_buckets: &mut self.reservation_buckets,
            outside: &mut self.outside,
            outside_buckets: &mut self.outside_buckets,
        })
    }

    /// Damage of the sort that a crash in the middle of a step leaves: all but the reservations.
    pub fn scribble(&mut self, noise: u32) {
        let last = u32::try_from(self.nodes.len()).unwrap_or(1).max(3) - 1;
        for entries in [&mut self.lane_entries, &mut self.node_entries] {
            let places = entries.len().max(1);
            entries.rotate_left(noise as usize % places);
        }
        self.gates.reverse();
        self.lanes.reverse();
        self.nodes.reverse();
        self.meters.reverse();
        self.timers.fill(noise % last);
        for (at, bucket) in self.lane_buckets.iter_mut().enumerate() {
            *bucket = (at as u32).wrapping_mul(noise) % last;
        }
        self.shares.reverse();
        self.due.reverse();
        self.due_order.fill(noise % last);
        self.leases.reverse();
        self.calendar.reverse();
        self.outside.reverse();
        for buckets in [
            &mut self.node_buckets,
            &mut self.gate_buckets,
            &mut self.meter_buckets,
            &mut self.reservation_buckets,
            &mut self.share_buckets,
            &mut self.due_buckets,
            &mut self.lease_buckets,
            &mut self.outside_buckets,
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
