//! What a claim that runs alone must return, by scanning the table.

use std::collections::HashMap;

use turnstile_scheduler::{EVERY_QUEUE, GateKind, LaneSpec};

use super::fairness::Fairness;
use super::table::{JobId, Row, most};
use super::{Checked, World};

impl World {
    /// Picks the least (priority, position) that may run, `wanted` times over.
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
        let mut claimed = Vec::new();
        while claimed.len() < wanted {
            let Some(job) = self.naive_next(&rows, queue, &starts, &fairness) else {
                break;
            };
            rows[job].state = super::table::State::Running;
            fairness.serve(
                &rows[job].spec,
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
        let mut first_of: HashMap<u64, (i32, i64)> = HashMap::new();
        for row in rows
            .iter()
            .filter(|row| row.is_available() && row.spec.session != 0)
        {
            let first = first_of.entry(row.spec.session).or_insert(order(row));
            *first = (*first).min(order(row));
        }
        let eligible = |row: &Row| {
            row.is_available()
                && [row.spec.queue, EVERY_QUEUE].contains(&queue)
                && has_room(&row.spec)
                && (row.spec.session == 0 || first_of.get(&row.spec.session) == Some(&order(row)))
        };
        let rank = |row: &Row| {
            let is_fair = self
                .effective_terms(GateKind::Queue, row.spec.queue)
                .is_fair;
            let tag = if is_fair { fairness.tag(&row.spec) } else { 0 };
            (row.spec.priority, tag, row.position)
        };
        let mut next: HashMap<u64, (JobId, &Row)> = HashMap::new();
        for (job, row) in rows.iter().enumerate().filter(|(_, row)| eligible(row)) {
            let best = next.entry(row.spec.queue).or_insert((job, row));
            if rank(row) < rank(best.1) {
                *best = (job, row);
            }
        }
        let best = next.into_values().min_by_key(|(_, row)| order(row));
        best.map(|(job, _)| job)
    }
}

/// The order within a session, and of what is next in each queue.
fn order(row: &Row) -> (i32, i64) {
    (row.spec.priority, row.position)
}
