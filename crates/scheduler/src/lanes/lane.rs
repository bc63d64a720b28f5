//! Lanes are made when a job comes and go when they are found empty.

use crate::memory::entry::{Entry, Kind};
use crate::memory::gate::{GateKind, MAX_GATES};
use crate::memory::lane::{Lane, LaneSpec};
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{NONE, Step};
use crate::testing::faults::{Seeded, armed};

impl Scheduler<'_> {
    /// A job became available at `position`: the lane's head is at or before it from now on.
    pub fn lower(&mut self, spec: &LaneSpec, position: i64) -> Step<()> {
        self.unblock_session(spec)?;
        let head = self.head_of_new_lane(spec, position)?;
        self.lower_to(spec, head)?;
        let stamp = self.header.stamp;
        self.header.outside.note_lowered(spec.lane, stamp);
        Ok(())
    }

    /// If no lane can be made, it is noted that this one is in the tables only.
    pub(crate) fn lower_to(&mut self, spec: &LaneSpec, position: i64) -> Step<()> {
        let stamp = self.next_stamp();
        let stamp_now = self.header.stamp;
        if let Some(lane) = self.find_lane(spec.lane)? {
            self.lane_mut(lane)?.stamp = stamp;
            let entry = self.entry(lane)?;
            let is_known = position == entry.head;
            if is_known || position < entry.head {
                // The date of the job may be known only now.
                let is_verified = is_known && entry.is_verified();
                self.move_head(lane, position, is_verified)?;
            }
            return Ok(());
        }
        if !self.make_room(spec, false, stamp_now)? {
            return self.note_missing(spec);
        }
        let lane = self.make_lane(spec, position)?;
        self.lane_mut(lane)?.stamp = stamp;
        self.update_place(lane)
    }

    /// Jobs from `position` on are not available any more, for other reasons than a claim. There may be no others, and their
    /// session may have waited for the first of them.
    pub fn withdraw(&mut self, spec: &LaneSpec, position: i64) -> Step<()> {
        let Some(lane) = self.find_lane(spec.lane)? else {
            return Ok(());
        };
        self.doubt(lane)?;
        if spec.session == 0 || armed(Seeded::IgnoreWithdrawal) {
            return Ok(());
        }
        let stamp = self.next_stamp();
        self.lane_mut(lane)?.stamp = stamp;
        if position <= self.entry(lane)?.head {
            self.mark_unverified(lane)?;
        }
        Ok(())
    }

    /// One for each of its gates, a key group, one above its queue, and one that must be left if its queue is the first.
    pub(crate) const NODES_OF_A_LANE: usize = MAX_GATES + 3;

    fn make_lane(&mut self, spec: &LaneSpec, head: i64) -> Step<u32> {
        let path = self.make_path(spec)?;
        let home = path.home;
        for node in path.downwards() {
            self.add_node_reference(node, home)?;
        }
        let level = self.level_in(path.queue, spec.priority, head)?;
        let lane = Lane {
            key: spec.lane,
            priority: spec.priority,
            session: path.session,
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
        self.list_lane(at, path.queue)?;
        self.join_tenant(path.tenant, at)?;
        Ok(at)
    }

    pub(crate) fn free_lane(&mut self, lane: u32) -> Step<()> {
        let path = self.path_of(lane)?;
        let place = self.place(lane)?;
        if place != NONE {
            self.heap_remove(lane)?;
            self.update_place(place)?;
        }
        self.end_doubt(lane)?;
        self.unlist_lane(lane, path.queue)?;
        self.leave_tenant(path.tenant, lane)?;
        let key = self.lane(lane)?.key;
        self.lanes.remove(lane, Some(key))?;
        for node in path.downwards().rev() {
            self.drop_node_reference(node)?;
        }
        Ok(())
    }

    /// Blocks a session: none of its jobs may start before its next job.
    pub(crate) fn block_session(&mut self, session: u32) -> Step<()> {
        self.entry_mut(session)?.set_blocked(true);
        self.update_place(session)
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
                self.update_place(session)
            }
            _ => Ok(()),
        }
    }
}
