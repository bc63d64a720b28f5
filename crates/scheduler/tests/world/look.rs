//! Looks at lanes that no claim may reach, because they may be empty.

use rand::Rng;
use turnstile_scheduler::{Outcome, Picked, ToLookAt};

use super::arena::At;
use super::claim::Stage;
use super::table::Row;
use super::{Checked, World};

impl World {
    /// A transaction looks at a lane, as claims do in passing, and goes on with a claim.
    pub fn look_at_a_lane(&mut self, at: usize) -> Checked {
        let which = match self.rng.random_bool(0.5) {
            true => ToLookAt::Doubtful,
            false => ToLookAt::DoubtfulOrHeldUp,
        };
        let effort = self.rng.random_range(1..100);
        let Some(picked) = self.next_to_look_at(which, effort)? else {
            return Ok(());
        };
        let queue = self.shape.any_claimed_queue(&mut self.rng);
        let wanted = self.any_wanted();
        self.start_claim(at, queue, wanted);
        let session = self.known_of_session(&picked)?;
        let rates = self.rates_of(&picked)?;
        if let Some(claim) = &mut self.transactions[at].claim {
            (claim.session, claim.rates) = (session, rates);
            claim.stage = Stage::Snapshot(picked, Vec::new());
            self.tally.count("look at a lane that may be empty");
        }
        Ok(())
    }

    fn next_to_look_at(&mut self, which: ToLookAt, effort: u32) -> Checked<Option<Picked>> {
        let mut scheduler = self.arena.scheduler();
        let mut left = scheduler.begin_looks(effort);
        scheduler
            .next_to_look_at(which, &mut left)
            .at("next_to_look_at")
    }

    /// While nothing else runs: what can be found to be empty is gone then.
    pub fn check_empty_lanes(&mut self) -> Checked {
        loop {
            let slots = *self.arena.scheduler().lane_slots().end();
            let effort = 20 * (slots + 1);
            let Some(picked) = self.next_to_look_at(ToLookAt::DoubtfulOrHeldUp, effort)? else {
                break;
            };
            let rows = self.available_in(&picked);
            let mut seen: Vec<i64> = rows.iter().map(|(_, row)| row.position).collect();
            seen.sort_unstable();
            let outcome = Outcome {
                taken: &[],
                seen: &seen,
                seen_all: true,
            };
            self.arena
                .scheduler()
                .settle(&picked, &[], outcome)
                .at("settle")?;
            self.check()?;
        }
        let scheduler = self.arena.scheduler();
        if scheduler.doubtful_lanes() > 0 {
            return Err("a doubtful lane was not looked at".into());
        }
        let jobs = self.table.jobs.iter().map(|job| job.row);
        let available: Vec<Row> = jobs.filter(Row::is_available).collect();
        for slot in scheduler.lane_slots() {
            let Some(lane) = scheduler.lane_at(slot).at("lane_at")? else {
                continue;
            };
            let is_empty = !available.iter().any(|row| row.spec.lane == lane.spec.lane);
            if is_empty && scheduler.room(&lane.spec) == 0 {
                return Err(format!("{lane:?} is empty and stays in memory"));
            }
        }
        Ok(())
    }
}
