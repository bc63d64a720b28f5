//! Runs worlds from seeds, and says at which seed and step one failed.

use rand::Rng;
use rand::rngs::SmallRng;

use super::shape::Shape;
use super::table::Row;
use super::tally::Tally;
use super::transaction::LimitChange;
use super::{Checked, World};

/// One world from its beginning until it is empty again.
pub fn run(seed: u64, steps: u64, shape: fn(&mut SmallRng) -> Shape) -> Checked<Tally> {
    let mut world = World::new(seed, shape);
    let describe = |world: &World, step: u64, error: String| {
        format!("seed {seed}, step {step}: {error}\n{:?}", world.shape)
    };
    for step in 0..=steps {
        let outcome = match step < steps {
            true => world.step().and_then(|()| world.check()),
            false => world.run_dry(),
        };
        match outcome {
            Err(error) if error.starts_with("Full") && world.all_gates_are_in_use()? => {
                world.tally.count("world that ran out of gates");
                return Ok(world.tally);
            }
            outcome => outcome.map_err(|error| describe(&world, step, error))?,
        }
    }
    Ok(world.tally)
}

impl World {
    /// With every limit lifted, claiming and finishing empties the world.
    fn run_dry(&mut self) -> Checked {
        self.finish_all_transactions()?;
        self.finish_rebuild()?;
        self.check_empty_lanes()?;
        self.lift_limits()?;
        self.finish_rebuild()?;
        self.let_much_time_pass();
        for _ in 0..=10 * self.table.jobs.len() {
            self.finish_running()?;
            if self.table.live() == 0 {
                return self.check_empty();
            }
            self.load_some()?;
            for queue in self.shape.queue_keys() {
                let at = self.begin();
                let wanted = self.rng.random_range(1..20);
                self.claim_at_once(at, queue, wanted)?;
                self.commit(at)?;
                self.call_back(at)?;
                self.check()?;
            }
        }
        Err(format!("{} jobs are stuck", self.table.live()))
    }

    fn lift_limits(&mut self) -> Checked {
        let at = self.begin();
        let rows = self.table.limits.rows.iter();
        self.transactions[at].limits = rows
            .map(|(&target, row)| LimitChange {
                target,
                value: None,
                lost_rate: row.has_rate().then_some(row.settings.rate_since),
                level: 0,
            })
            .collect();
        self.commit(at)?;
        self.call_back(at)?;
        self.check()
    }

    fn finish_running(&mut self) -> Checked {
        let at = self.begin();
        while let Some((job, _)) = self.any_row(at, Row::is_running) {
            self.finish(at, job);
        }
        self.commit(at)?;
        self.call_back(at)?;
        self.check()
    }

    fn check_empty(&mut self) -> Checked {
        for queue in self.shape.queue_keys() {
            let at = self.begin();
            if !self.claim_at_once(at, queue, 1)?.is_empty() {
                return Err("a job was claimed in an empty world".into());
            }
            self.abort(at);
            self.call_back(at)?;
        }
        self.check()?;
        let scheduler = self.arena.scheduler();
        if scheduler.lane_count() != 0 {
            return Err(format!("{} lanes are left", scheduler.lane_count()));
        }
        for slot in scheduler.gate_slots() {
            if let Ok(Some(gate)) = scheduler.gate_at(slot)
                && gate.held > 0
            {
                return Err(format!("{gate:?} holds room for nobody"));
            }
        }
        Ok(())
    }
}
