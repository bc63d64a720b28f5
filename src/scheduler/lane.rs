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

/// A node has the same key whenever it is made.
pub(crate) fn queue_node_key(queue: u64) -> u64 {
    mix(queue, queue)
}

impl Scheduler<'_> {
    /// A job became available at `position`: the lane's head is at most there.
    pub fn lower(&mut self, spec: &LaneSpec, position: i64) -> Step<()> {
        self.unblock_session(spec)?;
        let begins = self.begins_with(spec, position)?;
        self.lower_to(spec, begins)?;
        self.note_heard(spec.lane);
        Ok(())
    }

    /// Where no lane can be made the memory is marked as spilled: some lanes are known to the tables only.
    pub(crate) fn lower_to(&mut self, spec: &LaneSpec, position: i64) -> Step<()> {
        let stamp = self.next_stamp();
        if let Some(lane) = self.find_entry(Kind::Lane, spec.lane)? {
            self.entry_mut(lane)?.stamp = stamp;
            let entry = self.entry(lane)?;
            let is_known = position == entry.rank.head;
            if is_known || position < entry.rank.head {
                // Its date may be known only now.
                let is_exact = is_known && entry.is_exact;
                self.move_head(lane, position, is_exact)?;
            }
            return Ok(());
        }
        if !self.can_make_lane() {
            self.leave_out(true);
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

    /// A lane, its nodes and its bundle.
    pub(crate) const ENTRIES_OF_A_LANE: usize = MOST_GATES + 2;

    pub(crate) fn can_make_lane(&self) -> bool {
        self.header.lanes < self.max_lanes
            && self.entries.left() >= Self::ENTRIES_OF_A_LANE
            && self.gates_left() >= MOST_GATES
    }

    fn make_lane(&mut self, spec: &LaneSpec, head: i64) -> Step<u32> {
        let mut nodes = [NONE; MOST_GATES];
        for (slot, kind) in nodes.iter_mut().zip(GateKind::ALL) {
            let key = spec.key_of(kind);
            if matches!(kind, GateKind::Unique) {
                continue;
            }
            // Jobs without tenant have a node of their own, too, but no gate.
            if key != 0 || kind == GateKind::Tenant {
                *slot = self.node(kind, mix(spec.queue, key), key)?;
            }
        }
        let [queue, tenant, account, session, concurrency, _] = nodes;
        let mut lane = Entry {
            key: spec.lane,
            kind: Kind::Lane,
            rank: Rank {
                level: self.level_of(queue, spec.priority, head)?,
                priority: spec.priority,
                tag: 0,
                head,
            },
            home: if account == NONE { tenant } else { account },
            queue,
            tenant,
            account,
            session,
            concurrency,
            ..Entry::default()
        };
        if concurrency != NONE {
            lane.home = self.bundle(&lane)?;
        }
        if spec.unique != 0 {
            let key = mix(self.entry(lane.home)?.key, spec.unique);
            lane.unique = self.node(GateKind::Unique, key, spec.unique)?;
            self.entry_mut(lane.unique)?.home = lane.home;
            lane.home = lane.unique;
        }
        self.link_nodes(&lane)?;
        self.header.lanes = self.header.lanes.saturating_add(1);
        self.entries.insert(lane)
    }

    /// The node of those who share a lane's home and concurrency key.
    fn bundle(&mut self, lane: &Entry) -> Step<u32> {
        let key = mix(
            self.entry(lane.home)?.key,
            self.entry(lane.concurrency)?.key,
        );
        if let Some(at) = self.find_entry(Kind::Bundle, key)? {
            return Ok(at);
        }
        self.entries.insert(Entry {
            key,
            kind: Kind::Bundle,
            home: lane.home,
            concurrency: lane.concurrency,
            ..Entry::default()
        })
    }

    /// Tells the nodes of a new lane what lies above them, and a session what its lanes differ in.
    fn link_nodes(&mut self, lane: &Entry) -> Step<()> {
        for node in self.nodes_above(lane)?.into_iter().filter(|&it| it != NONE) {
            let entry = self.entry_mut(node)?;
            entry.queue = lane.queue;
            entry.tenant = lane.tenant;
            if entry.kind == Kind::Account {
                entry.home = lane.tenant;
            }
            if entry.kind == Kind::Session {
                if entry.lanes == 0 {
                    (entry.account, entry.concurrency, entry.unique) =
                        (lane.account, lane.concurrency, lane.unique);
                }
                entry.is_mixed |= entry.own_gates() != lane.own_gates();
            }
            entry.lanes = entry.lanes.saturating_add(1);
        }
        Ok(())
    }

    /// The nodes that a lane refers to: those of its gates, and its bundle.
    fn nodes_above(&self, lane: &Entry) -> Step<[u32; MOST_GATES + 1]> {
        let [queue, tenant, account, session, concurrency, unique] = lane.nodes();
        let home = match unique {
            NONE => lane.home,
            unique => self.entry(unique)?.home,
        };
        let bundle = if concurrency == NONE { NONE } else { home };
        Ok([queue, tenant, account, concurrency, bundle, unique, session])
    }

    fn node(&mut self, kind: GateKind, node_key: u64, key: u64) -> Step<u32> {
        if let Some(at) = self.find_entry(kind.node(), node_key)? {
            return Ok(at);
        }
        let gate = match key {
            0 => NONE,
            key => self.find_or_make_gate(kind, key)?,
        };
        let at = self.entries.insert(Entry {
            key: node_key,
            kind: kind.node(),
            ..Entry::default()
        })?;
        if gate != NONE {
            self.attach_to_gate(at, gate)?;
        }
        if kind == GateKind::Queue {
            self.link_queue(at)?;
        }
        Ok(at)
    }

    pub(crate) fn find_queue(&self, queue: u64) -> Step<Option<u32>> {
        self.find_entry(Kind::Queue, queue_node_key(queue))
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
        let (rank, was_exact, place) = (entry.rank, entry.is_exact, entry.place);
        let level = self.level_of(entry.queue, rank.priority, head)?;
        if (rank.level, rank.head, was_exact) == (level, head, is_exact) {
            return Ok(());
        }
        if place == NONE {
            return Err(Fault::Corrupt("a lane has no place"));
        }
        self.heap_remove(lane)?;
        let entry = self.entry_mut(lane)?;
        entry.rank.level = level;
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
        let nodes = self.nodes_above(&entry)?;
        self.entries.remove(lane)?;
        let lanes = self.header.lanes.checked_sub(1);
        self.header.lanes = lanes.ok_or(Fault::Corrupt("more lanes than were counted"))?;
        for node in nodes.into_iter().rev().filter(|&node| node != NONE) {
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
