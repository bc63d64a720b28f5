//! Lanes are made when a job comes and go when they are found empty.

use crate::memory::entry::{Entry, Kind};
use crate::memory::gate::{GateKind, MOST_GATES};
use crate::memory::lane::{Lane, LaneSpec};
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{NONE, Step};
use crate::testing::faults::{Seeded, armed};

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
}
