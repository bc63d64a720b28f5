//! More lanes than slots: some lanes with work are known to the tables only.
//!
//! Lanes are read from the tables part by part and offered, in the order of their keys, round and round. A round that
//! had to leave out nobody ends the overflow. Whoever commits meanwhile, the following holds:
//!
//! 1. Where a lane with an available job is missing, the memory is marked as spilled, or a round is under way that has
//!    not come to the lane yet.
//! 2. A lane begins at or before each of its available jobs, also where it is made from what was read: one that was
//!    heard of since the reading began, and is not there any more, begins in front of everything. So does one that is
//!    made for a new job, as others may have been there before.
//! 3. A queue is barren if nothing that is missing may run: it was searched in vain, and since then no gate has opened
//!    and no lane that may run has been left out.

use crate::faults::{Seeded, armed};
use crate::{Credit, EVERY_QUEUE, GateKind, LaneSpec, Scheduler, Step};

const HEARD: usize = 256;
const BARREN: usize = 16;

/// What there is to know of lanes that the memory does not have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outside {
    /// Some lanes with work found no slot since the round began.
    pub(crate) spilled: bool,
    in_round: bool,
    /// Rounds so far.
    round: u64,
    /// The key behind which the round goes on.
    cursor: i64,
    /// When a job of a lane was last heard of, by the lane's key; lanes may share a place.
    heard: [u64; HEARD],
    /// Nothing is known of what was heard before.
    heard_since: u64,
    /// Changes whenever what is missing may have become able to run.
    chances: u64,
    /// Queues that were searched in vain, and the chances that there were; queues may share a place.
    barren: [(u64, u64); BARREN],
}

impl Default for Outside {
    fn default() -> Self {
        Self {
            spilled: false,
            in_round: false,
            round: 0,
            cursor: i64::MIN,
            heard: [0; HEARD],
            heard_since: 0,
            chances: 1,
            barren: [(0, 0); BARREN],
        }
    }
}

impl Outside {
    /// For memory that begins anew.
    pub(crate) fn after(&self, stamp: u64) -> Self {
        Self {
            round: self.round.wrapping_add(1),
            heard_since: stamp,
            chances: self.chances.wrapping_add(1),
            ..Self::default()
        }
    }
}

/// Lanes that are to be read: those behind a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub after: i64,
    round: u64,
    /// What is heard later may be missing in what is read.
    since: u64,
}

fn place(key: u64, places: usize) -> usize {
    usize::try_from(key % places as u64).unwrap_or(0)
}

impl Scheduler<'_> {
    /// Whether a lane with work may be missing.
    pub fn has_overflow(&self) -> bool {
        self.header.outside.spilled || self.header.outside.in_round
    }

    pub(crate) fn knows(&self, lane: u64) -> Step<bool> {
        Ok(self.find_lane(lane)?.is_some())
    }

    /// What the round reads next.
    pub fn next_part(&mut self) -> Part {
        self.begin_round();
        self.part(self.header.outside.cursor)
    }

    /// What is behind a key, and is to be read now.
    pub(crate) fn part(&mut self, after: i64) -> Part {
        self.begin_round();
        Part {
            after,
            round: self.header.outside.round,
            since: self.header.stamp,
        }
    }

    /// A round begins before its first reading: what finds no room from then on keeps the overflow going.
    fn begin_round(&mut self) {
        let outside = &mut self.header.outside;
        if !outside.in_round {
            outside.in_round = true;
            outside.spilled = false;
            outside.cursor = i64::MIN;
            outside.round = outside.round.wrapping_add(1);
        }
    }

    /// If this is where the round stands it moves on.
    fn move_round(&mut self, part: &Part, last: Option<i64>) {
        let outside = &mut self.header.outside;
        if (outside.round, outside.cursor) == (part.round, part.after) && outside.in_round {
            outside.in_round = last.is_some();
            outside.cursor = last.unwrap_or(i64::MIN);
        }
    }

    /// Lanes that can be made without others having to go, whatever they differ in.
    pub fn free_lanes(&self) -> u32 {
        let with_nodes = self.nodes.left() / Self::NODES_OF_A_LANE;
        u32::try_from(self.lanes.left().min(with_nodes)).unwrap_or(u32::MAX)
    }

    /// What is missing has no more chances to run than when this was the same.
    pub(crate) fn chances(&self) -> u64 {
        self.header.outside.chances
    }

    /// A queue was searched in vain, in all that was missing when there were these chances.
    pub(crate) fn note_barren(&mut self, queue: u64, chances: u64) {
        if let Some(found) = self.header.outside.barren.get_mut(place(queue, BARREN)) {
            *found = (queue, chances);
        }
    }

    /// Whether nothing that is missing of a queue, or of all, may run.
    pub fn is_barren(&self, queue: u64) -> bool {
        let outside = &self.header.outside;
        let found = outside.barren.get(place(queue, BARREN));
        found == Some(&(queue, outside.chances))
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

    fn heard_of(&self, lane: u64) -> u64 {
        let outside = &self.header.outside;
        let heard = outside.heard.get(place(lane, HEARD)).copied();
        heard.unwrap_or(u64::MAX).max(outside.heard_since)
    }

    /// Where a lane begins that may be made for a job.
    pub(crate) fn begins_with(&self, spec: &LaneSpec, position: i64) -> Step<i64> {
        let may_have_others =
            self.has_overflow() && !self.knows(spec.lane)? && !armed(Seeded::BeginWithNewJob);
        Ok(if may_have_others { i64::MIN } else { position })
    }

    /// A job of the lane has become available: what was read of it before is outdated.
    pub(crate) fn note_heard(&mut self, lane: u64) {
        let stamp = self.header.stamp;
        if let Some(heard) = self.header.outside.heard.get_mut(place(lane, HEARD)) {
            *heard = stamp;
        }
    }

    /// What is missing may have become able to run.
    pub(crate) fn note_chance(&mut self) {
        if !armed(Seeded::MissChances) {
            self.header.outside.chances = self.header.outside.chances.wrapping_add(1);
        }
    }

    /// A lane with work is missing.
    pub(crate) fn leave_out(&mut self, may_run: bool) {
        self.header.outside.spilled = !armed(Seeded::SpillSilently);
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
        self.header.hand = self.header.hand % slots + 1;
        self.header.hand
    }

    fn evict(&mut self, lane: u32) -> Step<()> {
        let spec = self.spec_of(lane)?;
        self.free_lane(lane)?;
        let may_run = self.may_run(&spec, &[])?;
        self.leave_out(may_run);
        Ok(())
    }
}
