//! More lanes than slots: lanes that the memory does not have are loaded round and round, in the order of
//! their groups and keys, and by claims that find nothing.

use rand::Rng;
use turnstile_scheduler::probes::Probes;
use turnstile_scheduler::{Credit, EVERY_QUEUE, LaneKey, LaneSpec, Part, Search};

use super::arena::At;
use super::rebuild::Trust;
use super::{Checked, World};

/// What was read of some lanes: each with its first position, and the last lane if there may be more.
pub type Reading = (Vec<(LaneSpec, i64)>, Option<LaneKey>);

/// Lanes that are being loaded.
pub struct Load {
    part: Part,
    read: Option<Reading>,
}

/// The lanes that a claim looks at, beside those in memory.
pub struct Hunt {
    pub search: Search,
    pub read: Option<Reading>,
}

impl World {
    /// Whether a lane with work may be known to the table only.
    pub fn has_overflow(&mut self) -> bool {
        self.arena.scheduler().has_lanes_outside()
    }

    /// Forgets some lanes, as if others had needed the slots.
    pub fn evict_any(&mut self) -> Checked {
        let count = self.rng.random_range(1..4);
        self.tally.count("lanes evicted");
        self.arena.scheduler().evict_some(count).at("evict")
    }

    /// The next part of a load: asking for it, reading the table, using what was read.
    pub fn step_overflow(&mut self) -> Checked {
        if self.memory != Trust::Ready || !self.has_overflow() {
            return Ok(());
        }
        let unread = self.loads.iter().position(|load| load.read.is_none());
        match unread {
            _ if self.loads.is_empty() || self.rng.random_bool(0.1) => {
                let queue = self.shape.any_claimed_queue(&mut self.rng);
                let batch = self.rng.random_range(1..4);
                let part = self.arena.scheduler().part_to_load(queue, batch);
                if let Some(part) = part.at("part to load")? {
                    self.loads.push(Load { part, read: None });
                }
            }
            Some(at) => {
                let read = self.read_part(&self.loads[at].part.clone());
                self.loads[at].read = Some(read);
            }
            // Others have time to commit between the reading and its use.
            None if self.rng.random_bool(0.5) => {}
            None => {
                let at = self.rng.random_range(0..self.loads.len());
                return self.use_load(at);
            }
        }
        Ok(())
    }

    pub fn read_part(&mut self, part: &Part) -> Reading {
        let mut lanes: Vec<(LaneSpec, i64)> = Vec::new();
        let rows = self.table.jobs.iter().map(|job| job.row);
        for row in rows.filter(|row| row.is_available() && is_in(&row.spec, part)) {
            match lanes
                .iter_mut()
                .find(|(spec, _)| spec.lane == row.spec.lane)
            {
                Some((_, head)) => *head = row.position.min(*head),
                None => lanes.push((row.spec, row.position)),
            }
        }
        let most = self.arena.capacity.lanes.clamp(2, 7) / 2;
        let most = self.rng.random_range(1..=most);
        lanes.sort_unstable_by_key(|(spec, _)| LaneKey::from(spec));
        lanes.truncate(most);
        let last = lanes.last().filter(|_| lanes.len() == most);
        let last = last.map(|(spec, _)| LaneKey::from(spec));
        (lanes, last)
    }

    fn use_load(&mut self, at: usize) -> Checked {
        let Load { part, read } = self.loads.swap_remove(at);
        let (lanes, last) = read.unwrap_or_default();
        let mut scheduler = self.arena.scheduler();
        scheduler
            .offer(&part, &lanes, last, EVERY_QUEUE, &[])
            .at("offer")?;
        if last.is_none() {
            self.tally.count("round of loads");
        }
        Ok(())
    }

    /// What a claim has read is offered to it once more, except what it has looked at.
    pub fn offer_to(&mut self, hunt: Option<&Hunt>, credits: &[Credit]) -> Checked {
        let now = self.clock.now;
        let mut scheduler = self.arena.scheduler();
        scheduler.advance(now).at("advance")?;
        if let Some(Hunt { search, read }) = hunt
            && let Some((lanes, last)) = read
        {
            scheduler
                .offer_to_search(search, lanes, *last, credits)
                .at("offer to a search")?;
        }
        self.clock.advanced = now;
        Ok(())
    }

    /// Nothing in memory may run: whether there is more to be looked at.
    pub fn hunt_on(
        &mut self,
        hunt: Option<Hunt>,
        queue: u64,
        credits: &[Credit],
    ) -> Checked<Option<Hunt>> {
        let mut scheduler = self.arena.scheduler();
        let search = match hunt {
            None => scheduler.begin_search(queue, credits),
            Some(Hunt { search, read }) => {
                scheduler.go_on_searching(&search, read.and_then(|(_, last)| last), credits)
            }
        };
        let search = search.at("search")?;
        Ok(search.map(|search| Hunt { search, read: None }))
    }

    /// Loads until there is nothing to load or one load was used.
    pub fn load_some(&mut self) -> Checked {
        for _ in 0..10 {
            self.step_overflow()?;
            self.check()?;
        }
        Ok(())
    }
}

fn is_in(spec: &LaneSpec, part: &Part) -> bool {
    let key = LaneKey::from(spec);
    (part.from_group..=part.to_group).contains(&key.group) && key > part.after
}
