//! Which lane is next.

use crate::faults::{Seeded, armed};
use crate::gate::MOST_GATES;
use crate::place::{DEEPEST_NODE, home_of};
use crate::{
    EVERY_QUEUE, Entry, Fault, GateKind, Kind, LaneSpec, NONE, Rank, ReservationId, Scheduler, Step,
};

/// Room that the calling transaction gives back when it commits and may use itself before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credit {
    pub kind: GateKind,
    pub key: u64,
    pub count: u32,
}

/// A gate whose limit has to be read from the tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnknownGate {
    pub kind: GateKind,
    pub key: u64,
    /// To be handed back with the limit.
    pub version: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// Nothing in memory may run now.
    Nothing,
    /// The best lane may run or not: these of its limits are missing (a key of 0 fills the rest).
    Unknown(LaneSpec, [UnknownGate; MOST_GATES]),
    Lane(Picked),
    /// Open transactions hold as many reservations as fit.
    Exhausted,
}

/// A lane with room reserved in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picked {
    pub spec: LaneSpec,
    /// Where the scan starts.
    pub head: i64,
    /// A job at or behind this position would overtake another.
    pub bound: Option<i64>,
    /// How many of the caller's reservations are filled in. None at all asks for a look at the lane
    /// only: its session waits for a job that may be gone.
    pub reserved: usize,
    /// Changes whenever the settings of the lane's queue may have.
    pub settings_version: u64,
    /// The time of the pick, in microseconds.
    pub now: i64,
    /// Some of the lane's gates have a rate: the jobs start at the time of the pick, not later.
    pub is_metered: bool,
    pub(crate) stamp: u64,
}

/// Where the descent from a queue ended.
enum Found {
    Nothing,
    Unknown(u32, [UnknownGate; MOST_GATES]),
    Lane(u32),
    /// A lane that may not run, and whose head is in doubt.
    Doubtful(u32),
}

impl Scheduler<'_> {
    /// Finds the lane of the queue, or of every queue, that a scan over all lanes would return, and reserves room
    /// for up to as many jobs as there are `reservations` to fill in. `credits` are used up where they serve. `now`
    /// is in microseconds, read under the lock.
    pub fn pick(
        &mut self,
        queue: u64,
        now: i64,
        credits: &mut [Credit],
        reservations: &mut [ReservationId],
    ) -> Step<Pick> {
        self.advance(now)?;
        if queue != EVERY_QUEUE && self.find_queue(queue)?.is_none() {
            return Ok(Pick::Nothing);
        }
        for credit in credits.iter() {
            self.release_gate(credit.kind, credit.key, credit.count)?;
        }
        let pick = match self.descend(queue)? {
            Found::Nothing => Pick::Nothing,
            Found::Unknown(lane, gates) => {
                let lane = *self.entry(lane)?;
                Pick::Unknown(self.spec_of(&lane)?, gates)
            }
            Found::Lane(lane) => {
                let picked = self.picked(lane, queue)?;
                self.take_room(lane, picked, credits, reservations)?
            }
            Found::Doubtful(lane) => Pick::Lane(self.picked(lane, queue)?),
        };
        for credit in credits.iter() {
            if credit.count > 0 {
                self.hold_gate(credit.kind, credit.key, credit.count)?;
            }
        }
        Ok(pick)
    }

    fn descend(&mut self, queue: u64) -> Step<Found> {
        // Each turn but the last moves one unit below a closed gate, so they are no more than entries.
        for _ in 0..self.entries.slots.len() {
            let Some(best) = self.best_queue(queue)? else {
                return Ok(Found::Nothing);
            };
            let (unit, lane) = self.first_unit(best)?;
            let nodes = *self.entry(lane)?;
            if let Some(unknown) = self.unknown_gates(&nodes)? {
                return Ok(Found::Unknown(lane, unknown));
            }
            let Some(waits_at) = self.closed_place(&nodes)? else {
                return Ok(Found::Lane(lane));
            };
            let in_doubt = self.entry(unit)?.is_mixed && !nodes.is_exact;
            if in_doubt && !armed(Seeded::TrustDoubtfulHead) {
                return Ok(Found::Doubtful(lane));
            }
            if armed(Seeded::StopAtClosedGate) {
                return Ok(Found::Nothing);
            }
            self.move_unit(unit, waits_at)?;
        }
        Err(Fault::Corrupt("a pick goes round in circles"))
    }

    /// The best unit (a lane without session, or a session) below a node, and its first lane.
    pub(crate) fn first_unit(&self, node: u32) -> Step<(u32, u32)> {
        let mut at = node;
        for _ in 0..DEEPEST_NODE {
            let entry = self.entry(at)?;
            match entry.kind {
                Kind::Lane => return Ok((at, at)),
                Kind::Session => return Ok((at, entry.root)),
                _ => at = entry.root,
            }
        }
        Err(Fault::Corrupt("the tree of places is too deep"))
    }

    /// Where a lane waits that has no room: at a closed key, or at home, which lies below all its other gates.
    fn closed_place(&self, lane: &Entry) -> Step<Option<u32>> {
        for key in lane.keys() {
            if self.is_closed(key)? {
                return Ok(Some(key));
            }
        }
        let home_is_closed = self.is_closed(lane.tenant)? || self.is_closed(lane.account)?;
        Ok(home_is_closed.then(|| home_of(lane)))
    }

    fn is_closed(&self, node: u32) -> Step<bool> {
        Ok(node != NONE && !self.gate_is_open(self.entry(node)?.gate)?)
    }

    fn unknown_gates(&self, lane: &Entry) -> Step<Option<[UnknownGate; MOST_GATES]>> {
        let mut unknown = [UnknownGate::default(); MOST_GATES];
        let mut any = false;
        for (slot, node) in unknown.iter_mut().zip(lane.nodes()) {
            if node == NONE {
                continue;
            }
            let gate = self.gate(self.entry(node)?.gate)?;
            if gate.limit == crate::Limit::Unknown {
                *slot = UnknownGate {
                    kind: gate.kind,
                    key: gate.key,
                    version: gate.version,
                };
                any = true;
            }
        }
        Ok(any.then_some(unknown))
    }

    fn take_room(
        &mut self,
        lane: u32,
        mut picked: Picked,
        credits: &mut [Credit],
        reservations: &mut [ReservationId],
    ) -> Step<Pick> {
        let mut room = u32::MAX;
        for node in self
            .entry(lane)?
            .nodes()
            .into_iter()
            .filter(|&node| node != NONE)
        {
            let gate = self.entry(node)?.gate;
            room = room
                .min(self.gate(gate)?.room())
                .min(self.starts_left(gate)?);
        }
        let most = (room as usize).min(self.reservations_left());
        if most == 0 {
            return Ok(Pick::Exhausted);
        }
        for slot in reservations.iter_mut().take(most) {
            *slot = self.reserve(picked.spec)?;
            picked.is_metered |= self.hold_for(*slot, &picked.spec, credits)?;
            picked.reserved += 1;
        }
        Ok(Pick::Lane(picked))
    }

    fn picked(&self, lane: u32, queue: u64) -> Step<Picked> {
        let entry = self.entry(lane)?;
        let head = entry.rank.head;
        let mut bound = self.runner_up(lane, queue)?;
        if entry.session != NONE {
            // A session's jobs do not overtake each other, even if the next one is locked.
            let behind_head = head.saturating_add(1);
            bound = Some(bound.map_or(behind_head, |bound| bound.min(behind_head)));
        }
        Ok(Picked {
            spec: self.spec_of(entry)?,
            head,
            bound,
            reserved: 0,
            settings_version: self.gate(self.entry(entry.queue)?.gate)?.version,
            now: self.header.now,
            is_metered: false,
            stamp: entry.stamp,
        })
    }

    /// Holds room for one job, first from what the transaction itself gives back; true if a gate has a rate.
    fn hold_for(
        &mut self,
        id: ReservationId,
        spec: &LaneSpec,
        credits: &mut [Credit],
    ) -> Step<bool> {
        let mut is_metered = false;
        for (kind, key) in spec.gates() {
            let credit = credits
                .iter_mut()
                .find(|credit| credit.kind == kind && credit.key == key && credit.count > 0);
            if let Some(credit) = credit {
                credit.count -= 1;
                self.mark_transferred(id, kind)?;
            }
            let gate = self.hold_gate(kind, key, 1)?;
            if self.put_token_by(gate)? {
                self.mark_metered(id, kind)?;
                is_metered = true;
            }
        }
        Ok(is_metered)
    }

    /// Where the best other lane comes before this one, if its priority is the same: behind its head,
    /// as no two jobs have the same position. It is the best of the siblings on the way from the lane
    /// to its queue; where all queues are claimed from, also what comes first in the others.
    fn runner_up(&self, lane: u32, queue: u64) -> Step<Option<i64>> {
        let own = self.entry(lane)?.rank.priority;
        let mut best: Option<Rank> = None;
        let mut at = lane;
        for _ in 0..DEEPEST_NODE {
            let entry = self.entry(at)?;
            if entry.kind == Kind::Queue {
                break;
            }
            for child in [entry.left, entry.right] {
                if child != NONE {
                    let rank = self.entry(child)?.rank;
                    best = Some(best.map_or(rank, |best| best.min(rank)));
                }
            }
            at = entry.place;
        }
        if queue == EVERY_QUEUE && !armed(Seeded::IgnoreOtherQueues) {
            best = best.into_iter().chain(self.best_of_other_queues(at)?).min();
        }
        let behind = i64::from(!armed(Seeded::StopAtRunnerUp));
        Ok(best
            .filter(|rank| rank.priority == own && !armed(Seeded::IgnoreRunnerUp))
            .map(|rank| rank.head.saturating_add(behind)))
    }

    pub(crate) fn spec_of(&self, lane: &Entry) -> Step<LaneSpec> {
        let mut keys = [0; MOST_GATES];
        for (key, node) in keys.iter_mut().zip(lane.nodes()) {
            if node != NONE {
                *key = self.gate(self.entry(node)?.gate)?.key;
            }
        }
        let [queue, tenant, account, session, concurrency, unique] = keys;
        Ok(LaneSpec {
            lane: lane.key,
            queue,
            tenant,
            account,
            session,
            concurrency,
            unique,
            priority: lane.rank.priority,
        })
    }
}
