//! Lanes outside: lanes with work that are in the tables only, because memory is full.
//!
//! What is outside is on record by group, which is a queue and a tenant. Where there is no record for a group, its queue is
//! on record; where there is none for that either, everything is. The following holds whatever commits meanwhile:
//!
//! 1. If a lane with an available job is not in memory, a record says that its group has lanes outside, or a round over a
//!    record's lanes is under way that has not come to this lane.
//! 2. A step for a queue that has nothing outside looks at no record of others.
//! 3. A lane begins at or before each of its available jobs, also when it is made from what was read. A lane that is not in
//!    memory, and for which a job was announced since the reading began, is made with the least head of all. So is a lane
//!    that is made for a new job while its group has lanes outside, because it may have had other jobs before.
//! 4. A record is known to have been searched in vain as long as nothing of it that is missing may run. A lane that is left out
//!    is either able to run, which makes the search void, or is held up by a closed gate, which is then awaited:
//!    when it opens, searches are void that found lanes held up by it. A record whose own queue or tenant is closed is
//!    not searched.
//! 5. Lanes leave by who has the most (see `lanes::tenants`).
//!
//! The files: `outside` keeps the records, `round` reads lanes round after round and takes them in, `search` looks for a lane
//! that may run now.

use crate::memory::gate::GateKind;
use crate::memory::lane::{EVERY_QUEUE, LaneKey, LaneSpec, group_range_of_queue};
use crate::memory::outside::{Outside, Round, opening_of, record_key};
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{Fault, NONE, Step};
use crate::testing::faults::{Seeded, armed};

const CHAIN: Fault = Fault::Corrupt("the chain of records of lanes outside does not end");

/// What is on record as having lanes outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Record { at: u32, id: u64 },
    Everything,
}

impl Scheduler<'_> {
    pub(crate) fn outside(&self, at: u32) -> Step<&Outside> {
        self.outside.get(at)
    }

    pub(crate) fn outside_mut(&mut self, at: u32) -> Step<&mut Outside> {
        #[cfg(feature = "fault_injection")]
        crate::testing::injection::touch();
        self.outside.get_mut(at)
    }

    /// The record of a tenant of a queue, or of the queue itself.
    pub(crate) fn find_record(&self, queue: u64, tenant: Option<u64>) -> Step<Option<u32>> {
        if self.outside.pool.live == 0 {
            return Ok(None);
        }
        let id = (queue, tenant.unwrap_or(0), tenant.is_none());
        self.outside.find(record_key(queue, tenant), |_, it| {
            (it.queue, it.tenant, it.is_of_queue) == id
        })
    }

    /// The round of what is on record; none if it is on record no more.
    pub(crate) fn round(&self, place: Place) -> Option<&Round> {
        match place {
            Place::Everything => Some(&self.header.outside.everything),
            Place::Record { at, id } => {
                let record = self.outside.get(at).ok()?;
                self.is_live_record(record, id).then_some(&record.round)
            }
        }
    }

    pub(crate) fn round_mut(&mut self, place: Place) -> Option<&mut Round> {
        match place {
            Place::Everything => Some(&mut self.header.outside.everything),
            Place::Record { at, id } => {
                let is_live = self.is_live_record(self.outside.get(at).ok()?, id);
                let record = self.outside_mut(at).ok()?;
                is_live.then_some(&mut record.round)
            }
        }
    }

    fn is_live_record(&self, record: &Outside, id: u64) -> bool {
        record.id == id && id > self.header.outside.forgotten
    }

    /// Everything that is on record and may have the lane: its group, its queue, and everything.
    fn places_of(&self, spec: &LaneSpec) -> Step<[Option<Place>; 3]> {
        let mut places = [None, None, Some(Place::Everything)];
        for (place, tenant) in places.iter_mut().zip([Some(spec.tenant), None]) {
            if let Some(at) = self.find_record(spec.queue, tenant)? {
                *place = Some(self.place_of_record(at)?);
            }
        }
        Ok(places)
    }

    pub(crate) fn place_of_record(&self, at: u32) -> Step<Place> {
        let id = self.outside(at)?.id;
        Ok(Place::Record { at, id })
    }

    fn any_round(&self, spec: &LaneSpec, is_it: impl Fn(&Round) -> bool) -> Step<bool> {
        let places = self.places_of(spec)?;
        let mut rounds = places
            .into_iter()
            .flatten()
            .filter_map(|place| self.round(place));
        Ok(rounds.any(is_it))
    }

    /// Whether a lane may have jobs that memory does not know of, if it is not in memory.
    pub fn may_be_outside(&self, spec: &LaneSpec) -> Step<bool> {
        self.any_round(spec, Round::is_active)
    }

    /// Whether a lane that is not in memory will be found: it is on record, or a round will come to it.
    pub fn is_on_record(&self, spec: &LaneSpec) -> Step<bool> {
        self.any_round(spec, |round| round.knows(LaneKey::from(spec)))
    }

    /// Whether something of a queue, or of any, may be outside.
    pub fn has_outside(&self, queue: u64) -> Step<bool> {
        Ok(match queue {
            _ if self.header.outside.everything.is_active() => true,
            EVERY_QUEUE => self.outside.pool.live > 0,
            _ => self.find_record(queue, None)?.is_some(),
        })
    }

    /// A lane with work is missing in memory.
    pub(crate) fn note_missing(&mut self, spec: &LaneSpec) -> Step<()> {
        if armed(Seeded::SpillSilently) {
            return Ok(());
        }
        let place = self.find_or_make_record(spec)?;
        let closed = self.closed_gate(spec, &[])?;
        let mut blockers = 0;
        if let Some(gate) = closed {
            blockers = self.await_gate(gate)?;
        }
        let version = match closed {
            None if !armed(Seeded::MissRunnableLane) => self.header.outside.next_version(),
            _ => 0,
        };
        // What a search takes in takes the room of another lane, or comes from outside itself.
        let is_searching = self.is_searching;
        self.change_round(place, |round| {
            round.spilled = true;
            round.blockers |= blockers;
            round.missed = round.missed.max(version);
            round.left_out = round.left_out.saturating_add(u32::from(!is_searching));
        });
        Ok(())
    }

    /// Changes a round, and the number of lanes that are outside.
    pub(crate) fn change_round(&mut self, place: Place, change: impl FnOnce(&mut Round)) {
        let Some(round) = self.round_mut(place) else {
            return;
        };
        let before = u64::from(round.lanes());
        change(round);
        let after = u64::from(round.lanes());
        let lanes = &mut self.header.outside.lanes;
        *lanes = lanes.saturating_sub(before).saturating_add(after);
    }

    /// About how many lanes are outside.
    pub fn lanes_outside(&self) -> u64 {
        self.header.outside.lanes
    }

    /// What is missing cannot run before this gate opens. Returns where that will be noted.
    pub(crate) fn await_gate(&mut self, gate: u32) -> Step<u64> {
        if !self.gate(gate)?.is_awaited() {
            self.gate_mut(gate)?.set_awaited(true);
        }
        Ok(1 << opening_of(self.gate(gate)?))
    }

    fn find_or_make_record(&mut self, spec: &LaneSpec) -> Step<Place> {
        if let Some(at) = self.find_record(spec.queue, Some(spec.tenant))? {
            return self.place_of_record(at);
        }
        let Some(of_queue) = self.find_or_make_record_of_queue(spec.queue)? else {
            return Ok(Place::Everything);
        };
        match self.has_room_for_group(of_queue)? {
            true => self.make_record(of_queue, spec),
            false => self.place_of_record(of_queue),
        }
    }

    /// A quarter of the records is for queues only, and a queue has at most half of them for its tenants.
    fn has_room_for_group(&self, of_queue: u32) -> Step<bool> {
        let slots = self.outside.slots.len();
        let has_few = (self.outside(of_queue)?.groups as usize) < slots / 2;
        Ok(has_few && self.outside.left() > slots / 4)
    }

    fn find_or_make_record_of_queue(&mut self, queue: u64) -> Step<Option<u32>> {
        if let Some(at) = self.find_record(queue, None)? {
            return Ok(Some(at));
        }
        if self.outside.left() == 0 {
            return Ok(None);
        }
        let record = Outside {
            id: self.header.outside.draw(),
            queue,
            is_of_queue: true,
            ..Outside::default()
        };
        let key = record_key(queue, None);
        let at = self.outside.insert(record, Some(key))?;
        self.outside_mut(at)?.newest = at;
        self.link_to_all(at)?;
        Ok(Some(at))
    }

    fn make_record(&mut self, of_queue: u32, spec: &LaneSpec) -> Step<Place> {
        let record = Outside {
            id: self.header.outside.draw(),
            queue: spec.queue,
            tenant: spec.tenant,
            ..Outside::default()
        };
        let key = record_key(spec.queue, Some(spec.tenant));
        let at = self.outside.insert(record, Some(key))?;
        self.link_to_all(at)?;
        let queue = self.outside_mut(of_queue)?;
        queue.groups = queue.groups.saturating_add(1);
        let older = std::mem::replace(&mut queue.newest, at);
        self.outside_mut(older)?.newer = at;
        self.outside_mut(at)?.older = older;
        self.place_of_record(at)
    }

    fn link_to_all(&mut self, at: u32) -> Step<()> {
        let older = std::mem::replace(&mut self.header.outside.newest, at);
        if older != NONE {
            self.outside_mut(older)?.newer_of_all = at;
        }
        self.outside_mut(at)?.older_of_all = older;
        Ok(())
    }

    /// Removes the record if everything that it stands for is in memory by now.
    pub(crate) fn drop_if_over(&mut self, place: Place) -> Step<()> {
        let Place::Record { at, .. } = place else {
            return Ok(());
        };
        let stays = |round: &Round| match armed(Seeded::DropRecordTooSoon) {
            true => round.in_round,
            false => round.is_active(),
        };
        if self.round(place).is_none_or(stays) {
            return Ok(());
        }
        let record = *self.outside(at)?;
        if record.is_of_queue {
            return self.drop_if_empty(at);
        }
        let of_queue = self.find_record(record.queue, None)?.ok_or(CHAIN)?;
        self.outside_mut(record.older)?.newer = record.newer;
        match record.newer {
            NONE => self.outside_mut(of_queue)?.newest = record.older,
            newer => self.outside_mut(newer)?.older = record.older,
        }
        let queue = self.outside_mut(of_queue)?;
        queue.groups = queue.groups.saturating_sub(1);
        self.remove_record(at, &record)?;
        self.drop_if_empty(of_queue)
    }

    /// The record of a queue stays while its tenants have some.
    fn drop_if_empty(&mut self, of_queue: u32) -> Step<()> {
        let record = *self.outside(of_queue)?;
        match record.groups > 0 || record.round.is_active() {
            true => Ok(()),
            false => self.remove_record(of_queue, &record),
        }
    }

    fn remove_record(&mut self, at: u32, record: &Outside) -> Step<()> {
        let (older, newer) = (record.older_of_all, record.newer_of_all);
        match newer {
            NONE => self.header.outside.newest = older,
            newer => self.outside_mut(newer)?.older_of_all = older,
        }
        if older != NONE {
            self.outside_mut(older)?.newer_of_all = newer;
        }
        let tenant = (!record.is_of_queue).then_some(record.tenant);
        let key = record_key(record.queue, tenant);
        self.outside.remove(at, Some(key))
    }

    /// The groups of the lanes that a record stands for, first and last.
    pub(crate) fn groups_of_record(&self, at: u32) -> Step<(i64, i64)> {
        let record = self.outside(at)?;
        if record.is_of_queue {
            return Ok(group_range_of_queue(record.queue).into_inner());
        }
        let lane = LaneSpec {
            queue: record.queue,
            tenant: record.tenant,
            ..LaneSpec::default()
        };
        let group = lane.group().cast_signed();
        Ok((group, group))
    }

    /// The closed gate of the queue or the tenant of a record.
    pub(crate) fn closed_gate_of_record(&self, at: u32) -> Step<Option<u32>> {
        let record = self.outside(at)?;
        for (kind, key) in [
            (GateKind::Queue, record.queue),
            (GateKind::Tenant, record.tenant),
        ] {
            if key != 0
                && let Some(gate) = self.find_gate(kind, key)?
                && !self.gate_is_open(gate)?
            {
                return Ok(Some(gate));
            }
        }
        Ok(None)
    }

    /// Checks that each record is found and in both of its chains, the newest first.
    pub(crate) fn audit_outside(&self) -> Step<()> {
        let (mut records, mut in_queues) = (0, 0);
        let (mut at, mut newer) = (self.header.outside.newest, NONE);
        while at != NONE {
            let record = self.outside(at)?;
            let tenant = (!record.is_of_queue).then_some(record.tenant);
            let is_newest = newer == NONE || self.outside(newer)?.id > record.id;
            let is_known = self.find_record(record.queue, tenant)? == Some(at);
            if record.newer_of_all != newer || !is_newest || !is_known {
                return Err(CHAIN);
            }
            if record.is_of_queue {
                in_queues += self.audit_records_of(at)?;
            }
            records += 1;
            if records > self.outside.pool.live {
                return Err(CHAIN);
            }
            (newer, at) = (at, record.older_of_all);
        }
        match (records, in_queues) == (self.outside.pool.live, records) {
            true => Ok(()),
            false => Err(CHAIN),
        }
    }

    /// Counts the records of a queue, whose own is the oldest.
    fn audit_records_of(&self, of_queue: u32) -> Step<u32> {
        let (mut at, mut newer, mut count) = (self.outside(of_queue)?.newest, NONE, 0_u32);
        while at != NONE && (count as usize) < self.outside.slots.len() {
            let record = self.outside(at)?;
            let is_over = at != of_queue && !record.round.is_active();
            if record.newer != newer || record.queue != self.outside(of_queue)?.queue || is_over {
                return Err(CHAIN);
            }
            (newer, at, count) = (at, record.older, count + 1);
        }
        // Its own is not among the groups.
        let groups = count.checked_sub(1);
        let is_right = newer == of_queue && groups == Some(self.outside(of_queue)?.groups);
        is_right.then_some(count).ok_or(CHAIN)
    }
}
