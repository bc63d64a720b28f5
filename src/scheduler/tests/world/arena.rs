//! The scheduler's arrays, as vectors.

use turnstile_scheduler::{
    Capacity, Entry, Fault, Gate, Header, Memory, Meter, Pools, Reservation, Sample, Scheduler,
    Share,
};

use super::Checked;

pub struct Arena {
    pub capacity: Capacity,
    header: Header,
    pools: Pools,
    entries: Vec<Entry>,
    entry_buckets: Vec<u32>,
    gates: Vec<Gate>,
    gate_buckets: Vec<u32>,
    meters: Vec<Meter>,
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
            entries: vec![Entry::default(); capacity.entries],
            entry_buckets: vec![0; capacity.entry_buckets()],
            gates: vec![Gate::default(); capacity.gates],
            gate_buckets: vec![0; capacity.gate_buckets()],
            meters: vec![Meter::default(); capacity.gates],
            timers: vec![0; capacity.gates],
            shares: vec![Share::default(); capacity.shares],
            share_buckets: vec![0; capacity.share_buckets()],
            calendar: vec![Sample::default(); capacity.samples],
            reservations: vec![Reservation::default(); capacity.reservations],
            reservation_buckets: vec![0; capacity.reservation_buckets()],
        }
    }

    pub fn scheduler(&mut self) -> Scheduler<'_> {
        Scheduler::new(
            self.capacity.lanes,
            Memory {
                header: &mut self.header,
                pools: &mut self.pools,
                entries: &mut self.entries,
                entry_buckets: &mut self.entry_buckets,
                gates: &mut self.gates,
                gate_buckets: &mut self.gate_buckets,
                meters: &mut self.meters,
                timers: &mut self.timers,
                shares: &mut self.shares,
                share_buckets: &mut self.share_buckets,
                calendar: &mut self.calendar,
                reservations: &mut self.reservations,
                reservation_buckets: &mut self.reservation_buckets,
            },
        )
    }

    /// Damage of the sort that a crash in the middle of a step leaves: all but the reservations.
    pub fn scribble(&mut self, noise: u32) {
        let last = u32::try_from(self.entries.len()).unwrap_or(1) - 1;
        self.entries.rotate_left(noise as usize % last as usize);
        self.gates.reverse();
        self.meters.reverse();
        self.timers.fill(noise % last);
        for (at, bucket) in self.entry_buckets.iter_mut().enumerate() {
            *bucket = (at as u32).wrapping_mul(noise) % last;
        }
        self.shares.reverse();
        self.calendar.reverse();
        for buckets in [
            &mut self.gate_buckets,
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
