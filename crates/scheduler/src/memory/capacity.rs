//! How many slots each array has. Each grows and shrinks by itself.

use crate::memory::due::DueQueue;
use crate::memory::gate::Gate;
use crate::memory::lane::Lane;
use crate::memory::lease::Lease;
use crate::memory::meter::Meter;
use crate::memory::node::Node;
use crate::memory::reservation::Reservation;
use crate::memory::share::Share;
use crate::memory::slab::buckets_for;

/// An array that grows and shrinks, with what belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Array {
    /// Each lane has an entry.
    Lanes,
    /// Each node has an entry.
    Nodes,
    Gates,
    /// Each meter has a place for a timer.
    Meters,
    Shares,
    Reservations,
    /// Each queue has a place in the order of times.
    Due,
    Leases,
}

impl Array {
    pub const ALL: [Array; 8] = [
        Array::Lanes,
        Array::Nodes,
        Array::Gates,
        Array::Meters,
        Array::Shares,
        Array::Reservations,
        Array::Due,
        Array::Leases,
    ];

    /// How many buckets belong to so many slots. More are never in use. Fewer make chains longer.
    pub const fn buckets(self, slots: usize) -> usize {
        match self {
            Array::Lanes => buckets_for::<Lane>(slots),
            Array::Nodes => buckets_for::<Node>(slots),
            Array::Gates => buckets_for::<Gate>(slots),
            Array::Meters => buckets_for::<Meter>(slots),
            Array::Shares => buckets_for::<Share>(slots),
            Array::Reservations => buckets_for::<Reservation>(slots),
            Array::Due => buckets_for::<DueQueue>(slots),
            Array::Leases => buckets_for::<Lease>(slots),
        }
    }
}

/// Numbers of slots. Where they are those of arrays, slot 0 counts too, which stands for "none" in all but the samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capacity {
    pub lanes: usize,
    /// At most 2^31, because entries of nodes are marked by the top bit.
    pub nodes: usize,
    /// Gates outlive their lanes while jobs run.
    pub gates: usize,
    /// Gates that have a rate, a pause or jobs that age. Where settings are about to be stored and no meter is left, an
    /// idle gate that has one is forgotten, and its bucket begins empty again.
    pub meters: usize,
    /// Tenants whose starts are counted, by queue and level. If there are too few, all begin again.
    pub shares: usize,
    pub reservations: usize,
    /// Queues with jobs that were put off, or with leases.
    pub due: usize,
    /// Runs. Where there are too few, the leases of some are found in the tables only.
    pub leases: usize,
    /// Positions whose time of drawing is known.
    pub samples: usize,
}

impl Capacity {
    pub const fn of(&self, array: Array) -> usize {
        match array {
            Array::Lanes => self.lanes,
            Array::Nodes => self.nodes,
            Array::Gates => self.gates,
            Array::Meters => self.meters,
            Array::Shares => self.shares,
            Array::Reservations => self.reservations,
            Array::Due => self.due,
            Array::Leases => self.leases,
        }
    }

    pub const fn buckets(&self, array: Array) -> usize {
        array.buckets(self.of(array))
    }
}
