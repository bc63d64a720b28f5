//! Lanes outside are read from the tables part by part, in the order of the tables, round after round, and are offered to
//! memory. A round that could take in every lane ends what is on record. See `lanes::outside`.

use crate::gates::hold::Credit;
use crate::lanes::outside::Place;
use crate::memory::lane::{EVERY_QUEUE, LaneKey, LaneSpec};
use crate::memory::outside::Round;
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{NONE, Step};
use crate::testing::faults::{Seeded, armed};

/// More lanes than this do not leave for one.
const EVICTIONS_AT_MOST: usize = 64;

/// The part of the tables to read: the lanes of some groups behind a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub from_group: i64,
    /// The last group.
    pub to_group: i64,
    pub after: LaneKey,
    pub(crate) place: Place,
    pub(crate) round: u64,
    /// What is lowered after this stamp may be missing in what is read.
    pub(crate) since: u64,
}

impl Part {
    /// Where the round begins.
    pub(crate) fn first(&self) -> LaneKey {
        LaneKey::before(self.from_group)
    }
}

impl Scheduler<'_> {
    /// Asked by every claim from a queue, or from all: what it loads, so that each lane gets its turn. That is a part now
    /// and then, or whenever `batch` lanes fit.
    pub fn part_to_load(&mut self, queue: u64, batch: u32) -> Step<Option<Part>> {
        let has_room = self.free_lanes() >= batch;
        if let Some(at) = self.record_to_load(queue, has_room, batch)? {
            return self.next_part(self.place_of_record(at)?).map(Some);
        }
        let outside = &mut self.header.outside;
        if !outside.everything.is_active() {
            return Ok(None);
        }
        match is_turn(&mut outside.claims_on_everything, has_room, batch) {
            true => self.next_part(Place::Everything).map(Some),
            false => Ok(None),
        }
    }

    /// Goes round among the records of the queue, or among all.
    fn record_to_load(&mut self, queue: u64, has_room: bool, batch: u32) -> Step<Option<u32>> {
        let Some((first, hand)) = self.turn_of(queue, has_room, batch)? else {
            return Ok(None);
        };
        let is_worth = |memory: &mut Self, at| match has_room {
            true => Ok(memory.outside(at)?.round.is_active()),
            false => memory.is_worth_searching(at, &[]),
        };
        let mut found = self.next_record(queue, first, hand, is_worth)?;
        if found.is_none() {
            found = self.next_record(queue, first, u64::MAX, is_worth)?;
        }
        if let Some(at) = found {
            let id = self.outside(at)?.id;
            match queue {
                EVERY_QUEUE => self.header.outside.hand = id,
                _ => {
                    if let Some(of_queue) = self.find_record(queue, None)? {
                        self.outside_mut(of_queue)?.hand = id;
                    }
                }
            }
        }
        Ok(found)
    }

    /// If it is time to load: the newest record, and the one that was loaded last.
    fn turn_of(&mut self, queue: u64, has_room: bool, batch: u32) -> Step<Option<(u32, u64)>> {
        if queue == EVERY_QUEUE {
            let outside = &mut self.header.outside;
            if outside.newest == NONE {
                return Ok(None);
            }
            let is_turn = is_turn(&mut outside.claims, has_room, batch);
            return Ok(is_turn.then_some((outside.newest, outside.hand)));
        }
        let Some(at) = self.find_record(queue, None)? else {
            return Ok(None);
        };
        let of_queue = self.outside_mut(at)?;
        let is_turn = is_turn(&mut of_queue.claims, has_room, batch);
        Ok(is_turn.then_some((of_queue.newest, of_queue.hand)))
    }

    /// The first record from one on that is older than an id and is meant.
    pub(crate) fn next_record(
        &mut self,
        queue: u64,
        first: u32,
        before: u64,
        is_meant: impl Fn(&mut Self, u32) -> Step<bool>,
    ) -> Step<Option<u32>> {
        let mut at = first;
        for _ in 0..self.outside.slots.len() {
            if at == NONE {
                break;
            }
            if self.outside(at)?.id < before && is_meant(self, at)? {
                return Ok(Some(at));
            }
            let record = self.outside(at)?;
            at = match queue {
                EVERY_QUEUE => record.older_of_all,
                _ => record.older,
            };
        }
        Ok(None)
    }

    /// What the round of a place reads next.
    pub(crate) fn next_part(&mut self, place: Place) -> Step<Part> {
        let number = self.header.outside.draw();
        let (from_group, to_group) = match place {
            Place::Record { at, .. } => self.groups_of_record(at)?,
            Place::Everything => (i64::MIN, i64::MAX),
        };
        let first = LaneKey::before(from_group);
        let mut part = Part {
            from_group,
            to_group,
            after: first,
            place,
            round: number,
            since: self.header.stamp,
        };
        self.change_round(place, |round| {
            // A lane that finds no room from then on keeps the lanes on record.
            if !round.in_round {
                round.in_round = true;
                round.spilled = false;
                round.cursor = first;
                round.number = number;
                round.left_out_before = std::mem::take(&mut round.left_out);
            }
            (part.after, part.round) = (round.cursor, round.number);
        });
        Ok(part)
    }

    /// Moves the round on if this part is where it stands.
    fn move_round(&mut self, part: &Part, last: Option<LaneKey>) {
        let first = part.first();
        self.change_round(part.place, |round| {
            if (round.number, round.cursor) == (part.round, part.after) && round.in_round {
                round.in_round = last.is_some();
                round.cursor = last.unwrap_or(first);
                if !round.in_round {
                    round.left_out_before = 0;
                }
            }
        });
    }

    /// Takes in the lanes of a part that was read from the tables, each with its first position, as far as there is
    /// room. `last` is the last lane if more may follow it. Lanes of the queue that may run, or could with the
    /// credits, are taken in at the cost of others. So they come first.
    pub fn offer(
        &mut self,
        part: &Part,
        lanes: &[(LaneSpec, i64)],
        last: Option<LaneKey>,
        queue: u64,
        credits: &[Credit],
    ) -> Step<()> {
        self.move_round(part, last);
        let began = self.header.stamp;
        for (spec, position) in lanes {
            let is_of_queue = [spec.queue, EVERY_QUEUE].contains(&queue);
            if is_of_queue && self.closed_gate(spec, credits)?.is_none() {
                self.take_in(part, spec, *position, true, began)?;
            }
        }
        // All of them again: a gate that was closed may have been forgotten since.
        for (spec, position) in lanes {
            if !self.take_in(part, spec, *position, false, began)? {
                self.note_missing(spec)?;
            }
        }
        self.drop_if_over(part.place)
    }

    /// Whether a lane that was offered found no room although it may run as far as is known.
    pub fn is_left_out(&self, spec: &LaneSpec, credits: &[Credit]) -> Step<bool> {
        Ok(self.find_lane(spec.lane)?.is_none() && self.closed_gate(spec, credits)?.is_none())
    }

    /// Returns whether the lane is in memory now.
    fn take_in(
        &mut self,
        part: &Part,
        spec: &LaneSpec,
        position: i64,
        is_wanted: bool,
        began: u64,
    ) -> Step<bool> {
        if let Some(lane) = self.find_lane(spec.lane)? {
            if position < self.entry(lane)?.head {
                self.lower_to(spec, position)?;
            }
            return Ok(true);
        }
        if !self.make_room(spec, is_wanted, began)? {
            return Ok(false);
        }
        let is_outdated = self.header.outside.last_lowered(spec.lane) > part.since;
        let head = match is_outdated && !armed(Seeded::TrustOldReading) {
            true => i64::MIN,
            false => position,
        };
        self.lower_to(spec, head)?;
        Ok(true)
    }

    /// The head of a lane that may have to be made for a job.
    pub(crate) fn head_of_new_lane(&self, spec: &LaneSpec, position: i64) -> Step<i64> {
        let may_have_others = self.has_lanes_outside()
            && self.find_lane(spec.lane)?.is_none()
            && self.may_be_outside(spec)?
            && !armed(Seeded::BeginWithNewJob);
        Ok(if may_have_others { i64::MIN } else { position })
    }

    /// A gate that keeps a lane from running. Gates that the lanes of a session have on their own do not
    /// count: a lane that is held up by one of them holds up its session, and must be in memory for that.
    pub(crate) fn closed_gate(&self, spec: &LaneSpec, credits: &[Credit]) -> Step<Option<u32>> {
        for (kind, key) in spec.gates() {
            let is_of_lane = !kind.is_same_in_session();
            let has_credit = |it: &Credit| it.kind == kind && it.key == key && it.count > 0;
            if spec.session != 0 && is_of_lane || credits.iter().any(has_credit) {
                continue;
            }
            if let Some(gate) = self.find_gate(kind, key)?
                && !self.gate_is_open(gate)?
            {
                return Ok(Some(gate));
            }
        }
        Ok(None)
    }

    /// Evicts lanes until the lane can be made. Returns false if it has to stay outside.
    pub(crate) fn make_room(&mut self, spec: &LaneSpec, is_wanted: bool, began: u64) -> Step<bool> {
        for _ in 0..EVICTIONS_AT_MOST {
            if self.can_make_lane() {
                return Ok(true);
            }
            let tenant = self.find_tenant(spec)?;
            match self.lane_to_evict(tenant, is_wanted, began)? {
                Some(lane) => self.evict(lane)?,
                None => return Ok(false),
            }
        }
        Ok(self.can_make_lane())
    }

    pub(crate) fn evict(&mut self, lane: u32) -> Step<()> {
        let spec = self.spec_of(lane)?;
        self.free_lane(lane)?;
        self.note_missing(&spec)
    }

    /// The number of lanes that a tenant of a queue has in memory.
    pub fn lanes_of(&self, spec: &LaneSpec) -> Step<u32> {
        match self.find_tenant(spec)? {
            Some(tenant) => Ok(self.node(tenant)?.lanes),
            None => Ok(0),
        }
    }
}

/// Counts a claim. Whether it is to load lanes.
fn is_turn(claims: &mut u32, has_room: bool, batch: u32) -> bool {
    *claims = claims.saturating_add(1);
    let is_turn = has_room || *claims >= batch;
    if is_turn {
        *claims = 0;
    }
    is_turn
}

/// Whether a record's round is worth reading for a search, by what an earlier one has found.
pub(crate) fn is_in_vain(round: &Round, openings: &[u64]) -> bool {
    let is_void = |(bucket, &version): (usize, &u64)| {
        round.blockers & (1 << bucket) != 0 && version >= round.searched
    };
    round.searched > round.missed && !openings.iter().enumerate().any(is_void)
}
