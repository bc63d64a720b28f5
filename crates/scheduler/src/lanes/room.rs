//! What the caller has to know to decide whether arrays must grow before a step, or may shrink after one.

use crate::memory::capacity::Capacity;
use crate::memory::gate::MAX_GATES;
use crate::memory::scheduler::Scheduler;

impl Scheduler<'_> {
    /// How many slots each array has.
    pub fn capacity(&self) -> Capacity {
        Capacity {
            lanes: self.lanes.slots.len(),
            nodes: self.nodes.slots.len(),
            gates: self.gates.slots.len(),
            meters: self.meters.slots.len(),
            shares: self.shares.slots.len(),
            reservations: self.reservations.slots.len(),
            due: self.due.slots.len(),
            leases: self.leases.slots.len(),
            samples: self.calendar.len(),
        }
    }

    /// How many slots each array must keep. Those behind may be given back between two steps.
    pub fn needed(&self) -> Capacity {
        Capacity {
            lanes: self.lanes.needed(),
            nodes: (self.nodes.needed() + self.spare_nodes()).min(self.nodes.slots.len()),
            gates: self.gates.needed(),
            meters: self.meters.needed(),
            shares: self.shares.needed(),
            reservations: self.reservations.needed(),
            due: self.due.needed(),
            leases: self.leases.needed(),
            samples: self.header.calendar.samples as usize,
        }
    }

    /// How many slots can still be handed out. Gates that nothing uses count as free.
    pub fn free_slots(&self) -> Capacity {
        Capacity {
            lanes: self.lanes.left(),
            nodes: self.nodes.left(),
            gates: self.gates_left(),
            meters: self.meters.left(),
            shares: self.shares.left(),
            reservations: self.reservations_left(),
            due: self.due.left(),
            leases: self.leases.left(),
            samples: self.calendar.len().saturating_sub(self.samples().len()),
        }
    }

    /// Slots that no gate has, not even one that nothing uses.
    pub fn unused_gates(&self) -> usize {
        self.gates.left()
    }

    /// Gates that nothing uses, whose settings are still known.
    pub fn idle_gates(&self) -> usize {
        self.header.idle_gates.count as usize
    }

    /// The number of lanes that can be made without evicting others, whatever gates they have.
    pub fn free_lanes(&self) -> u32 {
        let nodes = self.nodes.left().saturating_sub(self.spare_nodes());
        let lanes = (self.lanes.left())
            .min(nodes / Self::NODES_OF_A_LANE)
            .min(self.gates_left() / MAX_GATES);
        u32::try_from(lanes).unwrap_or(u32::MAX)
    }

    pub(crate) fn can_make_lane(&self) -> bool {
        self.free_lanes() > 0
    }

    /// How many slots are missing for a demand. For each lane in it, there are to be nodes and gates for one of any sort.
    pub fn shortage(&self, demand: &Capacity) -> Capacity {
        let free = self.free_slots();
        let spare = match demand.lanes {
            0 => 0,
            _ => self.spare_nodes(),
        };
        let nodes = (demand.lanes.saturating_mul(Self::NODES_OF_A_LANE))
            .saturating_add(demand.nodes)
            .saturating_add(spare);
        let gates = (demand.lanes.saturating_mul(MAX_GATES)).saturating_add(demand.gates);
        Capacity {
            lanes: demand.lanes.saturating_sub(free.lanes),
            nodes: nodes.saturating_sub(free.nodes),
            gates: gates.saturating_sub(free.gates),
            meters: demand.meters.saturating_sub(free.meters),
            shares: demand.shares.saturating_sub(free.shares),
            reservations: demand.reservations.saturating_sub(free.reservations),
            due: demand.due.saturating_sub(free.due),
            leases: demand.leases.saturating_sub(free.leases),
            samples: demand.samples.saturating_sub(free.samples),
        }
    }
}
