//! Where an entry belongs in the tree of places, and how it is moved there.

use crate::memory::entry::Kind;
use crate::memory::path::MAX_NODE_DEPTH;
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
            true if entry.is_away() => self.other_place(at),
            true => Ok(entry.home),
        }
    }

    /// The one other place that an entry may have besides its home.
    pub(crate) fn other_place(&self, at: u32) -> Step<u32> {
        match self.entry(at)?.kind {
            Kind::Lane => Ok(self.lane(at)?.session),
            _ => Ok(self.node(at)?.other),
        }
    }

    pub(crate) fn set_place(&mut self, at: u32, place: u32) -> Step<()> {
        let entry = self.entry(at)?;
        let is_session = entry.kind == Kind::Session;
        let is_away = entry.home != place && self.other_place(at)? == place;
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

    /// Moves an entry, and then each node above it, to where it belongs by its heap, gate and rank.
    pub(crate) fn update_place(&mut self, from: u32) -> Step<()> {
        self.update_upwards(from, MAX_NODE_DEPTH)
    }

    fn update_upwards(&mut self, from: u32, levels: u32) -> Step<()> {
        let mut at = from;
        for left in (0..levels).rev() {
            if self.entry(at)?.kind == Kind::Queue {
                return self.update_queue(at);
            }
            let old_place = self.place(at)?;
            let place = self.desired_place(at)?;
            let rank = self.desired_rank(at, place)?;
            if place == old_place && (place == NONE || rank == self.rank(at)?) {
                return self.review_queue_of(at);
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
                self.update_upwards(old_place, left)?;
            }
            at = place;
        }
        Err(Fault::Corrupt("the tree of places is too deep"))
    }

    /// The rank that an entry has at a place: that of its best member, with its own tag among tenants.
    pub(crate) fn desired_rank(&self, at: u32, place: u32) -> Step<Rank> {
        let kind = self.entry(at)?.kind;
        if kind == Kind::Lane {
            return self.rank(at);
        }
        let node = self.node(at)?;
        if node.root == NONE {
            return self.rank(at);
        }
        let rank = self.rank(node.root)?;
        if kind == Kind::Queue {
            return self.rank_of_queue(at, rank);
        }
        let tag = match kind {
            Kind::Concurrency => rank.tag,
            Kind::Tenant => self.tag_of(at, rank.level)?,
            Kind::KeyGroup if place == node.other => self.least_tag_of(at, rank.level)?,
            _ => 0,
        };
        Ok(Rank { tag, ..rank })
    }

    /// The node in whose heap the entry belongs now; none for a closed, blocked or empty node.
    pub(crate) fn desired_place(&self, at: u32) -> Step<u32> {
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
            Kind::Session => self.desired_place_of_session(at),
            // A key group that waits for its key stays there until it is reached.
            Kind::KeyGroup if entry.is_placed() && entry.is_away() => Ok(node.other),
            Kind::Free | Kind::Unread | Kind::Aging | Kind::Lane => {
                Err(Fault::Corrupt("this entry has no place"))
            }
            _ => Ok(entry.home),
        }
    }

    /// A session waits with its first lane. While it is not certain that this lane has a job at its head, the
    /// session stays in reach: a lane that turns out empty must not hold back the session's other lanes.
    fn desired_place_of_session(&self, session: u32) -> Step<u32> {
        let node = self.node(session)?;
        let first = self.entry(node.root)?;
        let is_unverified = self.entry(session)?.is_mixed() && !first.is_verified();
        if is_unverified && !armed(Seeded::TrustUnverifiedHead) {
            return Ok(node.other);
        }
        Ok(first.home)
    }

    /// Moves a key group that was reached at home to its closed key, or back below its closed home.
    pub(crate) fn move_key_group(&mut self, key_group: u32, place: u32) -> Step<()> {
        let old_place = self.place(key_group)?;
        if old_place == place || old_place == NONE {
            return Err(Fault::Corrupt("a closed gate was reached"));
        }
        match armed(Seeded::TwoPlaces) {
            true => self.entry_mut(key_group)?.set_placed(false),
            false => self.heap_remove(key_group)?,
        }
        let rank = self.desired_rank(key_group, place)?;
        self.set_rank(key_group, rank)?;
        self.heap_push(place, key_group)?;
        self.update_place(old_place)?;
        self.update_place(place)
    }

    /// The best unit below a node, which is a session or a lane without a session; and the first lane of that
    /// unit.
    pub(crate) fn first_unit(&self, node: u32) -> Step<(u32, u32)> {
        let mut at = node;
        for _ in 0..MAX_NODE_DEPTH {
            match self.entry(at)?.kind {
                Kind::Lane => return Ok((at, at)),
                Kind::Session => return Ok((at, self.node(at)?.root)),
                _ => at = self.node(at)?.root,
            }
        }
        Err(Fault::Corrupt("the tree of places is too deep"))
    }
}
