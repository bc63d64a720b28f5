//! Lanes come when a job does and go when they are found empty.

use crate::faults::{Seeded, armed};
use crate::gate::MOST_GATES;
use crate::index::mix;
use crate::{Entry, Fault, GateKind, Kind, NONE, Rank, Scheduler, Step};

/// Everything that decides where the jobs of a lane may run. Keys are hashes; 0 is "none".
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LaneSpec {
    pub lane: u64,
    pub queue: u64,
    pub tenant: u64,
    pub account: u64,
    pub session: u64,
    pub concurrency: u64,
    /// Jobs with the same unique key run one at a time, wherever they are.
    pub unique: u64,
    pub priority: i32,
}

impl LaneSpec {
    pub fn key_of(&self, kind: GateKind) -> u64 {
        match kind {
            GateKind::Queue => self.queue,
            GateKind::Tenant => self.tenant,
            GateKind::Account => self.account,
            GateKind::Session => self.session,
            GateKind::Concurrency => self.concurrency,
            GateKind::Unique => self.unique,
        }
    }

    /// The gates that the lane passes through: at most six.
    pub fn gates(&self) -> impl Iterator<Item = (GateKind, u64)> + use<> {
        let spec = *self;
        GateKind::ALL
            .into_iter()
            .map(move |kind| (kind, spec.key_of(kind)))
            .filter(|&(_, key)| key != 0)
    }
}

impl Scheduler<'_> {
    /// A job became available at `position`: the lane's head is at most there.
    ///
    /// Where no lane can be made the queue is marked as spilled: some of its lanes are known to the tables only.
    pub fn lower(&mut self, spec: &LaneSpec, position: i64) -> Step<()> {
        self.unblock_session(spec)?;
        let stamp = self.next_stamp();
        if let Some(lane) = self.find_entry(Kind::Lane, spec.lane)? {
            self.entry_mut(lane)?.stamp = stamp;
            if position < self.entry(lane)?.rank.head {
                self.move_head(lane, position, false)?;
            }
            return Ok(());
        }
        if !self.can_make_lane() {
            self.header.spilled = !armed(Seeded::SpillSilently);
            return Ok(());
        }
        let lane = self.make_lane(spec, position)?;
        self.entry_mut(lane)?.stamp = stamp;
        self.settle_place(lane)
    }

    /// Jobs from `position` on ceased to be available other than by a claim: the first of them may have
    /// been what its session waited for.
    pub fn withdraw(&mut self, spec: &LaneSpec, position: i64) -> Step<()> {
        if spec.session == 0 || armed(Seeded::IgnoreWithdrawal) {
            return Ok(());
        }
        let stamp = self.next_stamp();
        let Some(lane) = self.find_entry(Kind::Lane, spec.lane)? else {
            return Ok(());
        };
        self.entry_mut(lane)?.stamp = stamp;
        if position <= self.entry(lane)?.rank.head {
            self.doubt(lane)?;
        }
        Ok(())
    }

    pub fn lane_count(&self) -> u32 {
        self.header.lanes
    }

    fn can_make_lane(&self) -> bool {
        self.header.lanes < self.max_lanes
            && self.entries.left() > MOST_GATES
            && self.gates_left() >= MOST_GATES
    }

    fn make_lane(&mut self, spec: &LaneSpec, head: i64) -> Step<u32> {
        let mut nodes = [NONE; MOST_GATES];
        for (slot, kind) in nodes.iter_mut().zip(GateKind::ALL) {
            let key = spec.key_of(kind);
            if key != 0 {
                *slot = self.node(kind, spec.queue, key)?;
            }
        }
        let [queue, tenant, account, session, concurrency, unique] = nodes;
        let lane = Entry {
            key: spec.lane,
            kind: Kind::Lane,
            rank: Rank {
                priority: spec.priority,
                head,
            },
            queue,
            tenant,
            account,
            session,
            concurrency,
            unique,
            ..Entry::default()
        };
        self.link_nodes(&lane)?;
        for node in nodes.into_iter().filter(|&node| node != NONE) {
            let entry = self.entry_mut(node)?;
            entry.lanes = entry.lanes.saturating_add(1);
        }
        self.header.lanes = self.header.lanes.saturating_add(1);
        self.entries.insert(lane)
    }

    /// Tells the nodes of a new lane what lies above them, and a session what its lanes differ in.
    fn link_nodes(&mut self, lane: &Entry) -> Step<()> {
        let Entry {
            queue,
            tenant,
            account,
            session,
            ..
        } = *lane;
        for node in lane.nodes().into_iter().filter(|&node| node != NONE) {
            self.entry_mut(node)?.queue = queue;
        }
        for node in [account, session].into_iter().filter(|&node| node != NONE) {
            self.entry_mut(node)?.tenant = tenant;
        }
        if session != NONE {
            let entry = self.entry_mut(session)?;
            if entry.lanes == 0 {
                (entry.account, entry.concurrency, entry.unique) =
                    (account, lane.concurrency, lane.unique);
            }
            entry.is_mixed |= entry.own_gates() != lane.own_gates();
        }
        Ok(())
    }

    fn node(&mut self, kind: GateKind, queue: u64, key: u64) -> Step<u32> {
        let node_key = mix(queue, key);
        if let Some(at) = self.find_entry(kind.node(), node_key)? {
            return Ok(at);
        }
        let gate = self.find_or_make_gate(kind, key)?;
        let at = self.entries.insert(Entry {
            key: node_key,
            kind: kind.node(),
            ..Entry::default()
        })?;
        self.attach_to_gate(at, gate)?;
        if kind == GateKind::Queue {
            self.link_queue(at)?;
        }
        Ok(at)
    }

    pub(crate) fn find_queue(&self, queue: u64) -> Step<Option<u32>> {
        self.find_entry(Kind::Queue, mix(queue, queue))
    }

    /// The job at the lane's head may be gone.
    pub(crate) fn doubt(&mut self, lane: u32) -> Step<()> {
        let entry = self.entry(lane)?;
        match entry.is_exact && entry.session != NONE {
            true => self.move_head(lane, entry.rank.head, false),
            false => Ok(()),
        }
    }

    /// Puts a lane where its new head belongs.
    pub(crate) fn move_head(&mut self, lane: u32, head: i64, is_exact: bool) -> Step<()> {
        let entry = self.entry(lane)?;
        if (entry.rank.head, entry.is_exact) == (head, is_exact) {
            return Ok(());
        }
        let place = entry.place;
        if place == NONE {
            return Err(Fault::Corrupt("a lane has no place"));
        }
        self.heap_remove(lane)?;
        let entry = self.entry_mut(lane)?;
        entry.rank.head = head;
        entry.is_exact = is_exact;
        self.heap_push(place, lane)?;
        self.settle_place(place)
    }

    /// Nothing of the session may start before its next job.
    pub(crate) fn block_session(&mut self, session: u32) -> Step<()> {
        self.entry_mut(session)?.is_blocked = true;
        self.settle_place(session)
    }

    fn unblock_session(&mut self, spec: &LaneSpec) -> Step<()> {
        if spec.session == 0 {
            return Ok(());
        }
        let session = self.find_entry(Kind::Session, mix(spec.queue, spec.session))?;
        match session {
            Some(session) if self.entry(session)?.is_blocked => {
                self.entry_mut(session)?.is_blocked = false;
                self.settle_place(session)
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn free_lane(&mut self, lane: u32) -> Step<()> {
        let entry = *self.entry(lane)?;
        if entry.place != NONE {
            self.heap_remove(lane)?;
            self.settle_place(entry.place)?;
        }
        self.entries.remove(lane)?;
        let lanes = self.header.lanes.checked_sub(1);
        self.header.lanes = lanes.ok_or(Fault::Corrupt("more lanes than were counted"))?;
        for node in entry.nodes().into_iter().rev().filter(|&node| node != NONE) {
            self.drop_node_reference(node)?;
        }
        Ok(())
    }

    fn drop_node_reference(&mut self, node: u32) -> Step<()> {
        let entry = self.entry_mut(node)?;
        entry.lanes = entry
            .lanes
            .checked_sub(1)
            .ok_or(Fault::Corrupt("a node counts fewer lanes than it has"))?;
        if entry.lanes > 0 {
            return Ok(());
        }
        if entry.place != NONE || entry.root != NONE {
            return Err(Fault::Corrupt("a node without lanes is in use"));
        }
        if entry.kind == Kind::Queue {
            self.unlink_queue(node)?;
        }
        self.detach_from_gate(node)?;
        self.entries.remove(node)
    }

    pub(crate) fn next_stamp(&mut self) -> u64 {
        self.header.stamp = self.header.stamp.wrapping_add(1);
        self.header.stamp
    }
}
