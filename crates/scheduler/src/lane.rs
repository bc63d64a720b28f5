//! Lanes come when a job does and go when they are found empty.

use crate::faults::{Seeded, armed};
use crate::gate::MOST_GATES;
use crate::{Entry, Fault, GateKind, Kind, Lane, NONE, Scheduler, Step};

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
        if let Some(lane) = self.find_lane(spec.lane)? {
            self.lane_mut(lane)?.stamp = stamp;
            let entry = self.entry(lane)?;
            let is_known = position == entry.head;
            if is_known || position < entry.head {
                // Its date may be known only now.
                let is_exact = is_known && entry.is_exact();
                self.move_head(lane, position, is_exact)?;
            }
            return Ok(());
        }
        if !self.can_make_lane() {
            self.leave_out(true);
            return Ok(());
        }
        let lane = self.make_lane(spec, position)?;
        self.lane_mut(lane)?.stamp = stamp;
        self.settle_place(lane)
    }

    /// Jobs from `position` on ceased to be available other than by a claim: the first of them may have
    /// been what its session waited for.
    pub fn withdraw(&mut self, spec: &LaneSpec, position: i64) -> Step<()> {
        if spec.session == 0 || armed(Seeded::IgnoreWithdrawal) {
            return Ok(());
        }
        let stamp = self.next_stamp();
        let Some(lane) = self.find_lane(spec.lane)? else {
            return Ok(());
        };
        self.lane_mut(lane)?.stamp = stamp;
        if position <= self.entry(lane)?.head {
            self.doubt(lane)?;
        }
        Ok(())
    }

    pub fn lane_count(&self) -> u32 {
        self.lanes.pool.live
    }

    pub(crate) fn find_lane(&self, key: u64) -> Step<Option<u32>> {
        self.lanes.find(key, |_, lane| lane.key == key)
    }

    pub(crate) fn is_lane(&self, at: u32) -> Step<bool> {
        Ok(self.entry(at)?.kind == Kind::Lane)
    }

    /// One for each of its gates, and a bundle.
    pub(crate) const NODES_OF_A_LANE: usize = MOST_GATES + 1;

    pub(crate) fn can_make_lane(&self) -> bool {
        self.lanes.left() > 0
            && self.nodes.left() >= Self::NODES_OF_A_LANE
            && self.gates_left() >= MOST_GATES
    }

    fn make_lane(&mut self, spec: &LaneSpec, head: i64) -> Step<u32> {
        let way = self.make_way(spec)?;
        let home = way.home();
        for node in way.downwards() {
            self.add_node_reference(node, home)?;
        }
        let level = self.level_in(way.queue, spec.priority, head)?;
        let lane = Lane {
            key: spec.lane,
            priority: spec.priority,
            session: way.session,
            ..Lane::default()
        };
        let at = self.lanes.insert(lane, Some(spec.lane))?;
        *self.entry_mut(at)? = Entry {
            kind: Kind::Lane,
            level,
            head,
            home,
            ..Entry::default()
        };
        Ok(at)
    }

    pub(crate) fn find_queue(&self, queue: u64) -> Step<Option<u32>> {
        match self.find_gate(GateKind::Queue, queue)? {
            Some(gate) => self.find_node(Kind::Queue, gate, NONE),
            None => Ok(None),
        }
    }

    /// The job at the lane's head may be gone.
    pub(crate) fn doubt(&mut self, lane: u32) -> Step<()> {
        let entry = self.entry(lane)?;
        match entry.is_exact() && self.lane(lane)?.session != NONE {
            true => self.move_head(lane, entry.head, false),
            false => Ok(()),
        }
    }

    /// Puts a lane where its new head belongs.
    pub(crate) fn move_head(&mut self, lane: u32, head: i64, is_exact: bool) -> Step<()> {
        let entry = self.entry(lane)?;
        let (old, was_exact) = ((entry.level, entry.head), entry.is_exact());
        let level = self.level_at(lane, head)?;
        if (old, was_exact) == ((level, head), is_exact) {
            return Ok(());
        }
        let place = self.place(lane)?;
        if place == NONE {
            return Err(Fault::Corrupt("a lane has no place"));
        }
        self.heap_remove(lane)?;
        let entry = self.entry_mut(lane)?;
        (entry.level, entry.head) = (level, head);
        entry.set_exact(is_exact);
        self.heap_push(place, lane)?;
        self.settle_place(place)
    }

    /// Nothing of the session may start before its next job.
    pub(crate) fn block_session(&mut self, session: u32) -> Step<()> {
        self.entry_mut(session)?.set_blocked(true);
        self.settle_place(session)
    }

    fn unblock_session(&mut self, spec: &LaneSpec) -> Step<()> {
        let session = match spec.session {
            0 => None,
            key => self.find_gate(GateKind::Session, key)?,
        };
        let Some(gate) = session else {
            return Ok(());
        };
        match self.gate(gate)?.first_node() {
            NONE => Ok(()),
            session if self.entry(session)?.is_blocked() => {
                self.entry_mut(session)?.set_blocked(false);
                self.settle_place(session)
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn free_lane(&mut self, lane: u32) -> Step<()> {
        let way = self.way_of(lane)?;
        let place = self.place(lane)?;
        if place != NONE {
            self.heap_remove(lane)?;
            self.settle_place(place)?;
        }
        let key = self.lane(lane)?.key;
        self.lanes.remove(lane, Some(key))?;
        *self.entry_mut(lane)? = Entry::default();
        for node in way.downwards().rev() {
            self.drop_node_reference(node)?;
        }
        Ok(())
    }

    /// When a lane was last lowered, doubted or made, if that was within the last 2^32 stamps.
    pub(crate) fn stamp_of(&self, lane: u32) -> Step<u64> {
        let now = self.header.stamp;
        let ago = (now as u32).wrapping_sub(self.lane(lane)?.stamp);
        Ok(now.wrapping_sub(u64::from(ago)))
    }

    /// The same comes again after so many that no claim can take that long.
    pub(crate) fn next_stamp(&mut self) -> u32 {
        self.header.stamp = self.header.stamp.wrapping_add(1);
        self.header.stamp as u32
    }
}
