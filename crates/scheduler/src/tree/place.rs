//! Where an entry belongs in the tree of places, and how it is moved there.

use crate::memory::entry::Kind;
use crate::memory::path::DEEPEST_NODE;
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{Fault, NONE, Step};
use crate::order::rank::Rank;
use crate::testing::faults::{Seeded, armed};

impl Scheduler<'_> {
    /// The node in whose heap an entry sits.
    pub(crate) fn place(&self, at: u32) -> Step<u32> {
        let entry = self.entry(at)?;
        match entry.is_placed() {
            false => Ok(NONE),
            true if entry.is_away() => self.elsewhere(at),
            true => Ok(entry.home),
        }
    }

    /// The one place that an entry may have besides its home.
    pub(crate) fn elsewhere(&self, at: u32) -> Step<u32> {
        match self.entry(at)?.kind {
            Kind::Lane => Ok(self.lane(at)?.session),
            _ => Ok(self.node(at)?.other),
        }
    }

    pub(crate) fn set_place(&mut self, at: u32, place: u32) -> Step<()> {
        let entry = self.entry(at)?;
        let is_session = entry.kind == Kind::Session;
        let is_away = entry.home != place && self.elsewhere(at)? == place;
        let entry = self.entry_mut(at)?;
        if is_session && !is_away {
            entry.home = place;
        }
        if !is_away && entry.home != place {
            return Err(Fault::Corrupt("an entry would be in a strange place"));
        }
        entry.set_placed(true);
        entry.set_away(is_away);
        Ok(())
    }

    /// Puts an entry, and then each node above it, where it belongs by its own heap, gate and rank.
    pub(crate) fn settle_place(&mut self, from: u32) -> Step<()> {
        self.settle_upwards(from, DEEPEST_NODE)
    }

    fn settle_upwards(&mut self, from: u32, levels: u32) -> Step<()> {
        let mut at = from;
        for left in (0..levels).rev() {
            if self.entry(at)?.kind == Kind::Queue {
                return Ok(());
            }
            let old_place = self.place(at)?;
            let place = self.place_of(at)?;
            let rank = self.rank_of(at, place)?;
            if place == old_place && (place == NONE || rank == self.rank(at)?) {
                return Ok(());
            }
            if old_place != NONE {
                self.heap_remove(at)?;
            }
            if place == NONE {
                at = old_place;
                continue;
            }
            self.set_rank(at, rank)?;
            self.heap_push(place, at)?;
            if old_place != NONE && old_place != place {
                self.settle_upwards(old_place, left)?;
            }
            at = place;
        }
        Err(Fault::Corrupt("the tree of places is too deep"))
    }

    /// The rank of an entry at a place: its best member's, and among tenants with the tag of its own.
    pub(crate) fn rank_of(&self, at: u32, place: u32) -> Step<Rank> {
        let kind = self.entry(at)?.kind;
        if kind == Kind::Lane {
            return self.rank(at);
        }
        let node = self.node(at)?;
        if node.root == NONE {
            return self.rank(at);
        }
        let rank = self.rank(node.root)?;
        let tag = match kind {
            Kind::Concurrency => rank.tag,
            Kind::Tenant => self.tag_of(at, rank.level)?,
            Kind::Bundle if place == node.other => self.least_tag_of(at, rank.level)?,
            _ => 0,
        };
        Ok(Rank { tag, ..rank })
    }

    /// The node in whose heap the entry belongs now; none for a closed, blocked or empty node.
    pub(crate) fn place_of(&self, at: u32) -> Step<u32> {
        let entry = self.entry(at)?;
        if entry.kind == Kind::Lane {
            return Ok(match self.lane(at)?.session {
                NONE => entry.home,
                session => session,
            });
        }
        let node = self.node(at)?;
        if node.root == NONE || entry.is_blocked() || !self.gate_is_open(node.gate)? {
            return Ok(NONE);
        }
        match entry.kind {
            Kind::Session => self.place_of_session(at),
            // Once it was found waiting for its key it stays there until it is reached.
            Kind::Bundle if entry.is_placed() && entry.is_away() => Ok(node.other),
            Kind::Tenant | Kind::Concurrency | Kind::Account | Kind::Unique | Kind::Bundle => {
                Ok(entry.home)
            }
            Kind::Free | Kind::Queue | Kind::Lane => Err(Fault::Corrupt("this entry has no place")),
        }
    }

    /// A session waits with its first lane. While it is in doubt whether that lane has a job at its head
    /// the session stays in reach: a lane that turns out empty must not hold back the session's others.
    fn place_of_session(&self, session: u32) -> Step<u32> {
        let node = self.node(session)?;
        let first = self.entry(node.root)?;
        let in_doubt = self.entry(session)?.is_mixed() && !first.is_exact();
        if in_doubt && !armed(Seeded::TrustDoubtfulHead) {
            return Ok(node.other);
        }
        Ok(first.home)
    }

    /// Moves a bundle that was reached at home to its closed key, or back below its closed home.
    pub(crate) fn move_bundle(&mut self, bundle: u32, place: u32) -> Step<()> {
        let old_place = self.place(bundle)?;
        if old_place == place || old_place == NONE {
            return Err(Fault::Corrupt("a closed gate was reached"));
        }
        match armed(Seeded::TwoPlaces) {
            true => self.entry_mut(bundle)?.set_placed(false),
            false => self.heap_remove(bundle)?,
        }
        let rank = self.rank_of(bundle, place)?;
        self.set_rank(bundle, rank)?;
        self.heap_push(place, bundle)?;
        self.settle_place(old_place)?;
        self.settle_place(place)
    }

    /// The best unit (a lane without session, or a session) below a node, and its first lane.
    pub(crate) fn first_unit(&self, node: u32) -> Step<(u32, u32)> {
        let mut at = node;
        for _ in 0..DEEPEST_NODE {
            match self.entry(at)?.kind {
                Kind::Lane => return Ok((at, at)),
                Kind::Session => return Ok((at, self.node(at)?.root)),
                _ => at = self.node(at)?.root,
            }
        }
        Err(Fault::Corrupt("the tree of places is too deep"))
    }
}
