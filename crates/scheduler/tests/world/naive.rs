//! What a claim that runs alone must return, by scanning the table.

use std::collections::HashMap;

use turnstile_scheduler::{EVERY_QUEUE, GateKind, LaneSpec};

use super::fairness::Fairness;
use super::table::{JobId, Row, most};
use super::{Checked, World};

impl World {
    /// Picks the least (level, position) that may run, `wanted` times over.
    pub fn naive_claim(&mut self, at: usize, queue: u64, wanted: usize) -> Checked<Vec<JobId>> {
        let mut starts = self.starts_left()?;
        let mut fairness = self.fairness.clone();
        let transaction = &self.transactions[at];
        let mut rows: Vec<Row> = self
            .table
            .jobs
            .iter()
            .enumerate()
            .map(|(job, it)| transaction.view(job, it.row))
            .collect();
        let mut levels = Vec::with_capacity(rows.len());
        for row in &rows {
            levels.push(self.levels(row)?);
        }
        let mut claimed = Vec::new();
        while claimed.len() < wanted {
            let Some(job) = self.naive_next(&rows, &levels, queue, &starts, &fairness) else {
                break;
            };
            rows[job].state = super::table::State::Running;
            fairness.serve(
                &rows[job].spec,
                levels[job].0,
                self.weight_in_force(rows[job].spec.tenant),
                1,
            );
            for (kind, key) in rows[job].spec.gates() {
                if let Some(left) = starts.get_mut(&(kind as u8, key)) {
                    *left = left.saturating_sub(1);
                }
            }
            claimed.push(job);
        }
        Ok(claimed)
    }

    fn weight_in_force(&self, tenant: u64) -> u32 {
        match tenant {
            0 => 1,
            tenant => self.effective_terms(GateKind::Tenant, tenant).weight,
        }
    }

    fn naive_next(
        &self,
        rows: &[Row],
        levels: &[(i32, i32)],
        queue: u64,
        starts: &HashMap<(u8, u64), u32>,
        fairness: &Fairness,
    ) -> Option<JobId> {
        let mut held: HashMap<(u8, u64), u32> = HashMap::new();
        let running = rows.iter().filter(|row| row.is_running());
        for (kind, key) in running.flat_map(|row| row.spec.gates()) {
            *held.entry((kind as u8, key)).or_default() += 1;
        }
        let has_room = |spec: &LaneSpec| {
            spec.gates().all(|(kind, key)| {
                let held = held.get(&(kind as u8, key)).copied().unwrap_or(0);
                held < most(self.effective_terms(kind, key).limit)
                    && starts.get(&(kind as u8, key)).is_none_or(|&left| left > 0)
            })
        };
        // The order within a session.
        let order = |job: JobId| (levels[job].0, rows[job].position);
        let mut first_of: HashMap<u64, (i32, i64)> = HashMap::new();
        let waits = |row: &Row| row.is_available() && row.spec.session != 0;
        for (job, row) in rows.iter().enumerate().filter(|(_, row)| waits(row)) {
            let first = first_of.entry(row.spec.session).or_insert(order(job));
            *first = (*first).min(order(job));
        }
        let eligible = |job: JobId, row: &Row| {
            row.is_available()
                && [row.spec.queue, EVERY_QUEUE].contains(&queue)
                && has_room(&row.spec)
                && (row.spec.session == 0 || first_of.get(&row.spec.session) == Some(&order(job)))
        };
        let rank = |job: JobId| {
            let (row, (level, _)) = (&rows[job], levels[job]);
            let is_fair = self
                .effective_terms(GateKind::Queue, row.spec.queue)
                .is_fair;
            let tag = match is_fair {
                true => fairness.tag(&row.spec, level),
                false => 0,
            };
            (level, tag, row.position)
        };
        let mut next: HashMap<u64, JobId> = HashMap::new();
        for (job, row) in rows.iter().enumerate() {
            if !eligible(job, row) {
                continue;
            }
            let best = next.entry(row.spec.queue).or_insert(job);
            if rank(job) < rank(*best) {
                *best = job;
            }
        }
        let among_queues = |&job: &JobId| {
            let (level, level_now) = levels[job];
            (level - level_now, rows[job].position)
        };
        next.into_values().min_by_key(among_queues)
    }
}
