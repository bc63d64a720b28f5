//! Where an entry belongs, and moving it there.

use crate::faults::{Seeded, armed};
use crate::{Entry, Fault, Kind, NONE, Rank, Scheduler, Step};

/// Steps from a lane up to its queue, at most: more are a cycle.
pub(crate) const DEEPEST_NODE: u32 = 8;

impl Scheduler<'_> {
    /// Puts an entry, and then each node above it, where it belongs by its own heap, gate and rank.
    pub(crate) fn settle_place(&mut self, from: u32) -> Step<()> {
        self.settle_upwards(from, DEEPEST_NODE)
    }

    fn settle_upwards(&mut self, from: u32, levels: u32) -> Step<()> {
        let mut at = from;
        for left in (0..levels).rev() {
            let entry = *self.entry(at)?;
            if entry.kind == Kind::Queue {
                return Ok(());
            }
            let place = self.place_of(&entry)?;
            let rank = self.rank_of(&entry)?;
            if place == entry.place && (place == NONE || rank == entry.rank) {
                return Ok(());
            }
            if entry.place != NONE {
                self.heap_remove(at)?;
            }
            if place == NONE {
                at = entry.place;
                continue;
            }
            self.entry_mut(at)?.rank = rank;
            self.heap_push(place, at)?;
            if entry.place != NONE && entry.place != place {
                self.settle_upwards(entry.place, left)?;
            }
            at = place;
        }
        Err(Fault::Corrupt("the tree of places is too deep"))
    }

    pub(crate) fn rank_of(&self, entry: &Entry) -> Step<Rank> {
        match entry.kind {
            Kind::Lane => Ok(entry.rank),
            _ if entry.root == NONE => Ok(entry.rank),
            _ => Ok(self.entry(entry.root)?.rank),
        }
    }

    /// The node in whose heap the entry belongs now; none for a closed, blocked or empty node.
    pub(crate) fn place_of(&self, entry: &Entry) -> Step<u32> {
        if entry.kind == Kind::Lane {
            return match entry.session {
                NONE => self.place_of_unit(entry, entry),
                session => Ok(session),
            };
        }
        if entry.root == NONE || entry.is_blocked || !self.gate_is_open(entry.gate)? {
            return Ok(NONE);
        }
        match entry.kind {
            Kind::Tenant | Kind::Concurrency | Kind::Unique => Ok(entry.queue),
            Kind::Account => Ok(first_of([entry.tenant, entry.queue])),
            Kind::Session => self.place_of_session(entry),
            Kind::Free | Kind::Queue | Kind::Lane => Err(Fault::Corrupt("this entry has no place")),
        }
    }

    /// A session waits with its first lane. While it is in doubt whether that lane has a job at its head
    /// the session stays in reach: a lane that turns out empty must not hold back the session's others.
    fn place_of_session(&self, session: &Entry) -> Step<u32> {
        let first = self.entry(session.root)?;
        if session.is_mixed && !first.is_exact && !armed(Seeded::TrustDoubtfulHead) {
            return Ok(session.queue);
        }
        self.place_of_unit(session, first)
    }

    /// A unit (a lane without session, or a session as its first lane) waits at home, or at a key of the
    /// first lane once it was found to wait for it.
    fn place_of_unit(&self, unit: &Entry, first: &Entry) -> Step<u32> {
        if unit.place != NONE && first.keys().contains(&unit.place) {
            return Ok(unit.place);
        }
        Ok(home_of(first))
    }

    /// Moves a unit that was reached below a closed gate: a key of its first lane, or else its home.
    pub(crate) fn move_unit(&mut self, unit: u32, place: u32) -> Step<()> {
        let old = self.entry(unit)?.place;
        if old == place || old == NONE {
            return Err(Fault::Corrupt("a closed gate was reached"));
        }
        match armed(Seeded::TwoPlaces) {
            true => self.entry_mut(unit)?.place = NONE,
            false => self.heap_remove(unit)?,
        }
        self.heap_push(place, unit)?;
        self.settle_place(old)?;
        self.settle_place(place)
    }
}

pub(crate) fn home_of(lane: &Entry) -> u32 {
    first_of([first_of([lane.account, lane.tenant]), lane.queue])
}

fn first_of(nodes: [u32; 2]) -> u32 {
    let [first, second] = nodes;
    if first == NONE { second } else { first }
}
