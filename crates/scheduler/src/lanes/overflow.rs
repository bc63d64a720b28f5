//! More lanes than slots: some lanes with work are in the tables only.
//!
//! Lanes are read from the tables part by part, in the order of their keys, round after round, and are offered to
//! memory. A round that could take in every lane ends the overflow. The following holds whatever commits meanwhile:
//!
//! 1. If a lane with an available job is missing, the memory is marked as spilled, or a round is under way that has
//!    not reached the lane yet.
//! 2. A lane begins at or before each of its available jobs, also when it is made from what was read. A lane that is not
//!    in memory and for which a job was announced since the reading began is made with the least head of all. So is a lane
//!    that is made for a new job, because it may have had other jobs before.
//! 3. A queue is known to have been searched in vain as long as nothing that is missing may run: since the search no gate has
//!    opened, and no lane that may run was left out.

use crate::gates::hold::Credit;
use crate::memory::gate::GateKind;
use crate::memory::lane::{EVERY_QUEUE, LaneSpec};
use crate::memory::scheduler::Scheduler;
use crate::memory::step::Step;
use crate::testing::faults::{Seeded, armed};

/// Lanes that are to be read: those behind a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub after: i64,
    pub(crate) round: u64,
    /// What is heard later may be missing in what is read.
    pub(crate) since: u64,
}

impl Scheduler<'_> {
    /// Lanes that can be made without others having to go, whatever they differ in.
    pub fn free_lanes(&self) -> u32 {
        let with_nodes = self.nodes.left() / Self::NODES_OF_A_LANE;
        u32::try_from(self.lanes.left().min(with_nodes)).unwrap_or(u32::MAX)
    }

    /// What the round reads next.
    pub fn next_part(&mut self) -> Part {
        self.begin_round();
        self.part(self.header.overflow.cursor)
    }

    /// What is behind a key, and is to be read now.
    pub(crate) fn part(&mut self, after: i64) -> Part {
        self.begin_round();
        Part {
            after,
            round: self.header.overflow.round,
            since: self.header.stamp,
        }
    }

    /// A round begins before its first reading: what finds no room from then on keeps the overflow going.
    fn begin_round(&mut self) {
        let outside = &mut self.header.overflow;
        if !outside.in_round {
            outside.in_round = true;
            outside.spilled = false;
            outside.cursor = i64::MIN;
            outside.round = outside.round.wrapping_add(1);
        }
    }

    /// If this is where the round stands it moves on.
    fn move_round(&mut self, part: &Part, last: Option<i64>) {
        let outside = &mut self.header.overflow;
        if (outside.round, outside.cursor) == (part.round, part.after) && outside.in_round {
            outside.in_round = last.is_some();
            outside.cursor = last.unwrap_or(i64::MIN);
        }
    }

    /// The lanes of a part were read from the tables, each with its first position; `last` is the key of the last if
    /// there may be more behind it. They are taken in where there is room; for those of the queue that may run, or
    /// could with the credits, others have to go.
    pub fn offer(
        &mut self,
        part: &Part,
        lanes: &[(LaneSpec, i64)],
        last: Option<i64>,
        queue: u64,
        credits: &[Credit],
    ) -> Step<()> {
        self.move_round(part, last);
        let began = self.header.stamp;
        for (spec, position) in lanes {
            let is_known = self.knows(spec.lane)?;
            let is_wanted =
                [spec.queue, EVERY_QUEUE].contains(&queue) && self.may_run(spec, credits)?;
            if is_known || self.can_make_lane() || is_wanted && self.make_room(began)? {
                self.lower_as_read(spec, *position, part, is_known)?;
            } else {
                self.leave_out(is_wanted);
            }
        }
        Ok(())
    }

    fn lower_as_read(
        &mut self,
        spec: &LaneSpec,
        position: i64,
        part: &Part,
        is_known: bool,
    ) -> Step<()> {
        let is_outdated = !is_known && self.heard_of(spec.lane) > part.since;
        let begins = match is_outdated && !armed(Seeded::TrustOldReading) {
            true => i64::MIN,
            false => position,
        };
        self.lower_to(spec, begins)
    }

    pub(crate) fn knows(&self, lane: u64) -> Step<bool> {
        Ok(self.find_lane(lane)?.is_some())
    }

    /// Where a lane begins that may be made for a job.
    pub(crate) fn begins_with(&self, spec: &LaneSpec, position: i64) -> Step<i64> {
        let may_have_others =
            self.has_overflow() && !self.knows(spec.lane)? && !armed(Seeded::BeginWithNewJob);
        Ok(if may_have_others { i64::MIN } else { position })
    }

    /// A lane with work is missing.
    pub(crate) fn leave_out(&mut self, may_run: bool) {
        self.header.overflow.spilled = !armed(Seeded::SpillSilently);
        if may_run {
            self.note_chance();
        }
    }

    /// Whether all gates of a lane are open. Those of a session's own lanes do not count: what keeps one of them waits
    /// in front of the others, and must be there for that.
    fn may_run(&self, spec: &LaneSpec, credits: &[Credit]) -> Step<bool> {
        for (kind, key) in spec.gates() {
            let is_of_lane = matches!(
                kind,
                GateKind::Account | GateKind::Concurrency | GateKind::Unique
            );
            let has_credit = |it: &Credit| it.kind == kind && it.key == key && it.count > 0;
            if spec.session != 0 && is_of_lane || credits.iter().any(has_credit) {
                continue;
            }
            if let Some(gate) = self.find_gate(kind, key)?
                && !self.gate_is_open(gate)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Forgets lanes, each in its turn, until another can be made; false if all have come since `began`.
    fn make_room(&mut self, began: u64) -> Step<bool> {
        let slots = *self.lanes.touched().end();
        for _ in 0..slots {
            if self.can_make_lane() {
                return Ok(true);
            }
            let at = self.next_in_turn(slots);
            if self.is_lane(at)? && self.stamp_of(at)? <= began {
                self.evict(at)?;
            }
        }
        Ok(self.can_make_lane())
    }

    /// Forgets up to `count` lanes, each in its turn.
    pub fn evict_some(&mut self, count: u32) -> Step<()> {
        let slots = *self.lanes.touched().end();
        let mut left = count;
        for _ in 0..slots {
            if left == 0 {
                break;
            }
            let at = self.next_in_turn(slots);
            if self.is_lane(at)? {
                self.evict(at)?;
                left -= 1;
            }
        }
        Ok(())
    }

    /// The slot whose turn it is to go.
    fn next_in_turn(&mut self, slots: u32) -> u32 {
        self.header.overflow.clock_hand = self.header.overflow.clock_hand % slots + 1;
        self.header.overflow.clock_hand
    }

    fn evict(&mut self, lane: u32) -> Step<()> {
        let spec = self.spec_of(lane)?;
        self.free_lane(lane)?;
        let may_run = self.may_run(&spec, &[])?;
        self.leave_out(may_run);
        Ok(())
    }
}
