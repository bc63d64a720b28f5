//! More lanes than slots: lanes that the memory does not have are loaded round and round, in the order of
//! their keys. A round that had to leave out nobody ends the overflow.

use rand::Rng;
use turnstile_scheduler::LaneSpec;

use super::arena::At;
use super::rebuild::Trust;
use super::{Checked, World};

#[derive(Default)]
pub struct Overflow {
    /// The key behind which the next lanes are loaded; 0 begins a round.
    cursor: u64,
    in_round: bool,
    /// Changes with each round that is begun: what an older one read is not used.
    round: u64,
    loads: Vec<Load>,
}

/// Lanes that are being loaded.
struct Load {
    after: u64,
    round: u64,
    count: usize,
    read: Option<Vec<(LaneSpec, i64)>>,
}

impl Overflow {
    /// A rebuild offers all lanes: nothing that was read before it matters.
    pub fn start_over(&mut self) {
        self.cursor = 0;
        self.in_round = false;
        self.round += 1;
    }
}

impl World {
    /// Whether a lane with work may be known to the table only.
    pub fn has_overflow(&mut self) -> bool {
        self.overflow.in_round || self.arena.scheduler().is_spilled()
    }

    /// Forgets some lanes, as if others had needed the slots.
    pub fn evict_any(&mut self) -> Checked {
        let count = self.rng.random_range(1..4);
        self.tally.count("lanes evicted");
        self.arena.scheduler().evict(count).at("evict")
    }

    /// The next part of a load: asking for it, reading the table, using what was read.
    pub fn step_overflow(&mut self) -> Checked {
        if self.memory != Trust::Ready || !self.has_overflow() {
            return Ok(());
        }
        let unread = self
            .overflow
            .loads
            .iter()
            .position(|load| load.read.is_none());
        match unread {
            _ if self.overflow.loads.is_empty() || self.rng.random_bool(0.1) => self.begin_load(),
            Some(at) => self.read_load(at),
            None => {
                let at = self.rng.random_range(0..self.overflow.loads.len());
                return self.use_load(at);
            }
        }
        Ok(())
    }

    /// What did not fit is forgotten before the table is read: who spills after that counts.
    fn begin_load(&mut self) {
        if self.overflow.cursor == 0 {
            self.arena.scheduler().forget_spill();
            self.overflow.in_round = true;
            self.overflow.round += 1;
        }
        let most = self.arena.capacity.lanes.min(7) / 2;
        self.overflow.loads.push(Load {
            after: self.overflow.cursor,
            round: self.overflow.round,
            count: self.rng.random_range(1..=most),
            read: None,
        });
    }

    fn read_load(&mut self, at: usize) {
        let load = &mut self.overflow.loads[at];
        let mut lanes: Vec<(LaneSpec, i64)> = Vec::new();
        let rows = self.table.jobs.iter().map(|job| job.row);
        for row in rows.filter(|row| row.is_available() && row.spec.lane > load.after) {
            match lanes
                .iter_mut()
                .find(|(spec, _)| spec.lane == row.spec.lane)
            {
                Some((_, head)) => *head = row.position.min(*head),
                None => lanes.push((row.spec, row.position)),
            }
        }
        lanes.sort_unstable_by_key(|(spec, _)| spec.lane);
        lanes.truncate(load.count);
        load.read = Some(lanes);
    }

    fn use_load(&mut self, at: usize) -> Checked {
        let load = self.overflow.loads.swap_remove(at);
        let lanes = load.read.unwrap_or_default();
        if (load.round, load.after) != (self.overflow.round, self.overflow.cursor) {
            self.tally.count("load in vain");
            return Ok(());
        }
        let mut scheduler = self.arena.scheduler();
        if (scheduler.free_lanes() as usize) < lanes.len() {
            scheduler.evict(lanes.len() as u32).at("evict")?;
        }
        for (spec, head) in &lanes {
            scheduler.lower(spec, *head).at("lower")?;
        }
        match lanes.last() {
            Some((spec, _)) if lanes.len() == load.count => self.overflow.cursor = spec.lane,
            _ => {
                self.overflow.cursor = 0;
                self.overflow.in_round = false;
                self.tally.count("round of loads");
            }
        }
        Ok(())
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
