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

/// The part of the tables to read: the lanes after a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub after: i64,
    pub(crate) round: u64,
    /// What is lowered after this stamp may be missing in what is read.
    pub(crate) since: u64,
}

impl Scheduler<'_> {
    /// The number of lanes that can be made without evicting others, whatever gates they have.
    pub fn free_lanes(&self) -> u32 {
        let with_nodes = self.nodes.left() / Self::NODES_OF_A_LANE;
        u32::try_from(self.lanes.left().min(with_nodes)).unwrap_or(u32::MAX)
    }

    /// What the round reads next.
    pub fn next_part(&mut self) -> Part {
        self.begin_round();
        self.part(self.header.overflow.cursor)
    }

    /// The part after a key, to be read now.
    pub(crate) fn part(&mut self, after: i64) -> Part {
        self.begin_round();
        Part {
            after,
            round: self.header.overflow.round,
            since: self.header.stamp,
        }
    }

    /// Begins a round before its first reading. A lane that finds no room from then on keeps the overflow
    /// going.
    fn begin_round(&mut self) {
        let overflow = &mut self.header.overflow;
        if !overflow.in_round {
            overflow.in_round = true;
            overflow.spilled = false;
            overflow.cursor = i64::MIN;
            overflow.round = overflow.round.wrapping_add(1);
        }
    }

    /// Moves the round on if this part is where it stands.
    fn move_round(&mut self, part: &Part, last: Option<i64>) {
        let overflow = &mut self.header.overflow;
        if (overflow.round, overflow.cursor) == (part.round, part.after) && overflow.in_round {
            overflow.in_round = last.is_some();
            overflow.cursor = last.unwrap_or(i64::MIN);
        }
    }

    /// Takes in the lanes of a part that was read from the tables, each with its first position, as far as
    /// there is room. `last` is the key of the last lane if more may follow it. Lanes of the queue that may
    /// run, or could with the credits, are taken in at the cost of others, which are evicted.
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
            let is_known = self.has_lane(spec.lane)?;
            let is_wanted =
                [spec.queue, EVERY_QUEUE].contains(&queue) && self.may_run(spec, credits)?;
            if is_known || self.can_make_lane() || is_wanted && self.make_room(began)? {
                self.lower_as_read(spec, *position, part, is_known)?;
            } else {
                self.note_missing(is_wanted);
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
        let is_outdated = !is_known && self.last_lowered(spec.lane) > part.since;
        let head = match is_outdated && !armed(Seeded::TrustOldReading) {
            true => i64::MIN,
            false => position,
        };
        self.lower_to(spec, head)
    }

    pub(crate) fn has_lane(&self, lane: u64) -> Step<bool> {
        Ok(self.find_lane(lane)?.is_some())
    }

    /// The head of a lane that may have to be made for a job.
    pub(crate) fn head_of_new_lane(&self, spec: &LaneSpec, position: i64) -> Step<i64> {
        let may_have_others =
            self.has_overflow() && !self.has_lane(spec.lane)? && !armed(Seeded::BeginWithNewJob);
        Ok(if may_have_others { i64::MIN } else { position })
    }

    /// A lane with work is missing in memory.
    pub(crate) fn note_missing(&mut self, may_run: bool) {
        self.header.overflow.spilled = !armed(Seeded::SpillSilently);
        if may_run {
            self.note_runnable_change();
        }
    }

    /// Whether all gates of a lane are open. Gates that the lanes of a session have on their own do not
    /// count: a lane that is held up by one of them holds up its session, and must be in memory for that.
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

    /// Evicts lanes in turn until another can be made. Returns false if all lanes have come since `began`.
    fn make_room(&mut self, began: u64) -> Step<bool> {
        let slots = *self.lanes.touched().end();
        for _ in 0..slots {
            if self.can_make_lane() {
                return Ok(true);
            }
            let at = self.advance_clock_hand(slots);
            if self.is_lane(at)? && self.stamp_of(at)? <= began {
                self.evict(at)?;
            }
        }
        Ok(self.can_make_lane())
    }

    /// Evicts up to `count` lanes in turn.
    pub fn evict_some(&mut self, count: u32) -> Step<()> {
        let slots = *self.lanes.touched().end();
        let mut left = count;
        for _ in 0..slots {
            if left == 0 {
                break;
            }
            let at = self.advance_clock_hand(slots);
            if self.is_lane(at)? {
                self.evict(at)?;
                left -= 1;
            }
        }
        Ok(())
    }

    /// The slot of the lane that is evicted next, if there is one.
    fn advance_clock_hand(&mut self, slots: u32) -> u32 {
        self.header.overflow.clock_hand = self.header.overflow.clock_hand % slots + 1;
        self.header.overflow.clock_hand
    }

    fn evict(&mut self, lane: u32) -> Step<()> {
        let spec = self.spec_of(lane)?;
        self.free_lane(lane)?;
        let may_run = self.may_run(&spec, &[])?;
        self.note_missing(may_run);
        Ok(())
    }
}
