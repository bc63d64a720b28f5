//! Reads the whole scheduler: for `turnstile.check()` and for tests. Changes nothing.

use crate::{
    Entry, Fault, GateKind, Kind, LaneSpec, Limit, Meter, NONE, Scheduler, Step, UnknownGate,
};

/// A lane as the scheduler knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneView {
    pub spec: LaneSpec,
    pub level: i32,
    pub head: i64,
}

/// A gate as the scheduler knows it.
#[derive(Clone, Copy, Debug)]
pub struct GateView {
    pub kind: GateKind,
    pub key: u64,
    pub limit: Limit,
    pub held: i32,
    /// Of a tenant.
    pub weight: u32,
    /// Of a queue.
    pub is_fair: bool,
    pub aging: u32,
    /// Its rate and pause, if it has any.
    pub meter: Option<Meter>,
}

impl Scheduler<'_> {
    /// Slots to ask [`Self::lane_at`] for.
    pub fn lane_slots(&self) -> std::ops::RangeInclusive<u32> {
        self.entries.touched()
    }

    pub fn lane_at(&self, slot: u32) -> Step<Option<LaneView>> {
        let entry = self.entry(slot)?;
        if entry.kind != Kind::Lane {
            return Ok(None);
        }
        Ok(Some(LaneView {
            spec: self.spec_of(entry)?,
            level: entry.rank.level,
            head: entry.rank.head,
        }))
    }

    /// Slots to ask [`Self::gate_at`] for.
    pub fn gate_slots(&self) -> std::ops::RangeInclusive<u32> {
        self.gates.touched()
    }

    pub fn gate_at(&self, slot: u32) -> Step<Option<GateView>> {
        let gate = self.gate(slot)?;
        if gate.version == 0 {
            return Ok(None);
        }
        Ok(Some(GateView {
            kind: gate.kind,
            key: gate.key,
            limit: gate.limit,
            held: gate.held,
            weight: gate.weight,
            is_fair: gate.is_fair,
            aging: gate.aging,
            meter: self.meter_of(slot)?.copied(),
        }))
    }

    /// The gate if its terms are not known.
    pub fn unknown_gate_at(&self, slot: u32) -> Step<Option<UnknownGate>> {
        let gate = self.gate(slot)?;
        let is_unknown = gate.version != 0 && gate.limit == Limit::Unknown;
        Ok(is_unknown.then_some(UnknownGate {
            kind: gate.kind,
            key: gate.key,
            version: gate.version,
        }))
    }

    /// Visits a gate once for every reservation that open transactions hold at it.
    pub fn for_each_reserved_gate(&self, mut visit: impl FnMut(GateKind, u64)) -> Step<()> {
        for at in self.reservations.touched() {
            for (kind, key) in self.held_by_reservation(at)? {
                visit(kind, key);
            }
        }
        Ok(())
    }

    /// Visits each job (lane, position) that an open claim has locked.
    pub fn for_each_job_in_flight(&self, mut visit: impl FnMut(u64, i64)) -> Step<()> {
        for at in self.reservations.touched() {
            if let Some((lane, position)) = self.job_of_reservation(at)? {
                visit(lane, position);
            }
        }
        Ok(())
    }

    /// Checks every link, rank and place; names the first thing that is wrong.
    pub fn audit(&self) -> Step<()> {
        let mut lanes = 0;
        let mut queues = 0;
        let mut placed = 0;
        for at in self.entries.touched() {
            let entry = self.entry(at)?;
            if entry.kind == Kind::Free {
                continue;
            }
            if self.find_entry(entry.kind, entry.key)? != Some(at) {
                return Err(Fault::Corrupt("an entry is not in its index"));
            }
            self.audit_place(entry)?;
            self.audit_children(at, entry)?;
            queues += u32::from(entry.kind == Kind::Queue);
            placed += u32::from(entry.place != NONE);
            if entry.kind == Kind::Lane {
                lanes += 1;
                self.audit_spec(entry)?;
            } else {
                self.audit_gate_link(at, entry)?;
            }
        }
        self.audit_idle_gates()?;
        self.audit_queues(queues)?;
        self.audit_timers()?;
        self.audit_levels()?;
        if lanes != self.header.lanes {
            return Err(Fault::Corrupt("the number of lanes is wrong"));
        }
        if placed != self.count_reachable()? {
            return Err(Fault::Corrupt("an entry with a place is not in a heap"));
        }
        Ok(())
    }

    fn audit_place(&self, entry: &Entry) -> Step<()> {
        let place = match entry.kind {
            Kind::Queue => NONE,
            _ => self.place_of(entry)?,
        };
        if place != entry.place {
            return Err(Fault::Corrupt("an entry is not where it belongs"));
        }
        let rank = self.rank_of(entry, place)?;
        // A bundle at its key may keep an old tag, and so may the key.
        let is_right = match entry.kind == Kind::Bundle && place == entry.concurrency {
            true => {
                (rank.level, rank.head) == (entry.rank.level, entry.rank.head)
                    && entry.rank.tag <= rank.tag
            }
            false => rank == entry.rank,
        };
        if entry.place != NONE && !is_right {
            return Err(Fault::Corrupt("a node's rank is not its best member's"));
        }
        if entry.kind == Kind::Lane && entry.place == NONE {
            return Err(Fault::Corrupt("a lane has no place"));
        }
        Ok(())
    }

    fn audit_children(&self, at: u32, entry: &Entry) -> Step<()> {
        for child in [entry.left, entry.right] {
            if child == NONE {
                continue;
            }
            let child = self.entry(child)?;
            if child.up != at || child.place != entry.place {
                return Err(Fault::Corrupt("a heap's link is one-sided"));
            }
            if child.rank < entry.rank {
                return Err(Fault::Corrupt("a heap is out of order"));
            }
        }
        let (left, right) = (self.distance(entry.left)?, self.distance(entry.right)?);
        if entry.place != NONE && (left < right || entry.distance != right.saturating_add(1)) {
            return Err(Fault::Corrupt("a heap is too deep on the right"));
        }
        if entry.root != NONE && self.entry(entry.root)?.place != at {
            return Err(Fault::Corrupt("a heap's top is in another place"));
        }
        Ok(())
    }

    fn audit_spec(&self, lane: &Entry) -> Step<()> {
        for node in lane.nodes().into_iter().filter(|&node| node != NONE) {
            if self.entry(node)?.lanes == 0 {
                return Err(Fault::Corrupt("a lane's node counts no lanes"));
            }
        }
        Ok(())
    }

    fn audit_gate_link(&self, at: u32, node: &Entry) -> Step<()> {
        if node.gate == NONE {
            return Ok(());
        }
        let linked_back = match node.gate_prev {
            NONE => self.gate(node.gate)?.first_node == at,
            prev => self.entry(prev)?.gate_next == at,
        };
        if !linked_back {
            return Err(Fault::Corrupt("a node is not in its gate's list"));
        }
        Ok(())
    }

    /// Entries that the heaps of all nodes hold, by following the links down from each root.
    fn count_reachable(&self) -> Step<u32> {
        let mut count = 0;
        for at in self.entries.touched() {
            let entry = self.entry(at)?;
            if entry.place != NONE && (entry.up != NONE || self.entry(entry.place)?.root == at) {
                count += 1;
            }
        }
        Ok(count)
    }
}
