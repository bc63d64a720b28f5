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
            let rank = self.rank_of(&entry, place)?;
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

    /// The rank of an entry at a place: its best member's, and among tenants with the tag of its own.
    pub(crate) fn rank_of(&self, entry: &Entry, place: u32) -> Step<Rank> {
        if entry.root == NONE {
            return Ok(entry.rank);
        }
        let rank = self.entry(entry.root)?.rank;
        let tag = match entry.kind {
            Kind::Concurrency => rank.tag,
            Kind::Tenant => self.tag_of(entry, rank.level)?,
            Kind::Bundle if place == entry.concurrency => self.least_tag_of(entry, rank.level)?,
            _ => 0,
        };
        Ok(Rank { tag, ..rank })
    }

    /// The node in whose heap the entry belongs now; none for a closed, blocked or empty node.
    pub(crate) fn place_of(&self, entry: &Entry) -> Step<u32> {
        if entry.kind == Kind::Lane {
            return Ok(first_of([entry.session, entry.home]));
        }
        if entry.root == NONE || entry.is_blocked || !self.gate_is_open(entry.gate)? {
            return Ok(NONE);
        }
        match entry.kind {
            Kind::Tenant | Kind::Concurrency => Ok(entry.queue),
            Kind::Account | Kind::Unique => Ok(entry.home),
            Kind::Session => self.place_of_session(entry),
            // Once it was found waiting for its key it stays there until it is reached.
            Kind::Bundle if entry.place == entry.concurrency => Ok(entry.place),
            Kind::Bundle => Ok(entry.home),
            Kind::Free | Kind::Queue | Kind::Lane => Err(Fault::Corrupt("this entry has no place")),
        }
    }

    /// A session waits with its first lane. While it is in doubt whether that lane has a job at its head
    /// the session stays in reach: a lane that turns out empty must not hold back the session's others.
    fn place_of_session(&self, session: &Entry) -> Step<u32> {
        let first = self.entry(session.root)?;
        if session.is_mixed && !first.is_exact && !armed(Seeded::TrustDoubtfulHead) {
            return Ok(session.tenant);
        }
        Ok(first.home)
    }

    /// Moves a bundle that was reached at home to its closed key, or back below its closed home.
    pub(crate) fn move_bundle(&mut self, bundle: u32, place: u32) -> Step<()> {
        let old = *self.entry(bundle)?;
        if old.place == place || old.place == NONE {
            return Err(Fault::Corrupt("a closed gate was reached"));
        }
        match armed(Seeded::TwoPlaces) {
            true => self.entry_mut(bundle)?.place = NONE,
            false => self.heap_remove(bundle)?,
        }
        let rank = self.rank_of(&old, place)?;
        self.entry_mut(bundle)?.rank = rank;
        self.heap_push(place, bundle)?;
        self.settle_place(old.place)?;
        self.settle_place(place)
    }
}

fn first_of(nodes: [u32; 2]) -> u32 {
    let [first, second] = nodes;
    if first == NONE { second } else { first }
}
