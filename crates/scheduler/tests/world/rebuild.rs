//! Memory is lost or distrusted, and read anew from the tables while others go on.

use rand::Rng;

use super::arena::At;
use super::table::{Row, State};
use super::transaction::Phase;
use super::{Checked, World};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    Ready,
    /// Callbacks only forget their reservations, claims wait.
    Stale,
    /// Rows of the rebuild's snapshot that are still to be read; callbacks are applied, claims wait.
    Rebuilding(Vec<Row>),
}

impl World {
    pub fn distrust(&mut self) {
        if self.rng.random_bool(0.5) {
            let noise = self.rng.random_range(1..1_000_000);
            self.arena.scribble(noise);
        }
        self.memory = Trust::Stale;
    }

    /// The next part of a rebuild.
    pub fn step_rebuild(&mut self) -> Checked {
        match &mut self.memory {
            Trust::Ready => Ok(()),
            Trust::Stale => self.begin_rebuild(),
            Trust::Rebuilding(unread) => {
                let mut scheduler = self.arena.scheduler();
                for row in unread.drain(..unread.len().min(7)) {
                    match row.state {
                        State::Running => scheduler.hold(&row.spec, 1).at("hold")?,
                        State::Available => {
                            scheduler.lower(&row.spec, row.position).at("lower")?;
                        }
                        State::Absent => {}
                    }
                }
                if unread.is_empty() {
                    scheduler.end_rebuild().at("end_rebuild")?;
                    self.memory = Trust::Ready;
                    self.tally.count("rebuild");
                } else if self.rng.random_bool(0.02) {
                    self.tally.count("rebuild given up");
                    self.memory = Trust::Stale;
                }
                Ok(())
            }
        }
    }

    /// The snapshot is taken under the lock: who is visible in it has either called back or will know.
    fn begin_rebuild(&mut self) -> Checked {
        self.arena.scheduler().begin_rebuild().at("begin_rebuild")?;
        if !self.table.limits.any_paused_session() {
            self.arena.scheduler().no_paused_sessions();
        }
        self.note_new_memory();
        self.fairness.start_over();
        self.forget_dates();
        self.forget_charges();
        let mut rows: Vec<Row> = self.table.jobs.iter().map(|job| job.row).collect();
        rows.retain(|row| row.state != State::Absent);
        if !rows.is_empty() {
            let first = self.rng.random_range(0..rows.len());
            rows.rotate_left(first);
        }
        for transaction in &mut self.transactions {
            if let Phase::Committed { counted } = &mut transaction.phase {
                *counted = true;
            }
        }
        self.memory = Trust::Rebuilding(rows);
        Ok(())
    }

    pub fn finish_rebuild(&mut self) -> Checked {
        while self.memory != Trust::Ready {
            self.step_rebuild()?;
            self.check()?;
        }
        Ok(())
    }
}
