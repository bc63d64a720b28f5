//! How many jobs come before another, by the order that claims would use: exact in its lane, an estimate across lanes.

use super::job::Waiting;
use crate::pg::call::datum;
use crate::pg::error::Result;
use crate::pg::spi::{Spi, Statement, statement};
use crate::sync::rebuild::when_ready;
use pgrx::pg_sys;
use std::collections::HashMap;
use turnstile_scheduler::{GateKind, LaneAhead, LaneSpec};

static COUNT_BEFORE: Statement = statement!(
    "count_before",
    [INT8OID, INT8OID, INT8OID, INT8OID, INT8OID]
);

/// Jobs that are counted at most.
pub const MOST: i64 = 10_000;
/// Lanes that memory is asked for, and those of them whose jobs are counted; each of the rest counts as their average.
const LANES: u32 = 1_000;
const COUNTED: usize = 200;

/// Jobs of other lanes that come before the job, with those for which each stands.
struct Rival {
    spec: LaneSpec,
    jobs: f64,
}

/// What comes before a job.
pub struct Counts {
    own_lane: i64,
    rivals: Vec<Rival>,
    /// There are more.
    pub is_capped: bool,
}

impl Counts {
    pub fn of(spi: &Spi, job_table: pg_sys::Oid, job: &Waiting) -> Result<Self> {
        let (head, samples) = when_ready(spi, job_table, |memory| {
            let scheduler = &memory.scheduler;
            let samples = scheduler.lanes_ahead(&job.place(), LANES)?;
            Ok((scheduler.head_of(&job.spec)?, samples))
        })?;
        let own_lane = count(spi, &job.spec, head, job.position, MOST)?;
        let mut counts = Self {
            own_lane,
            rivals: Vec::new(),
            is_capped: own_lane >= MOST,
        };
        for sample in samples {
            counts.add(spi, sample.lanes, f64::from(sample.each))?;
        }
        Ok(counts)
    }

    /// Lanes that are held up elsewhere do not compete.
    fn add(&mut self, spi: &Spi, lanes: Vec<LaneAhead>, each: f64) -> Result<()> {
        let competing: Vec<LaneAhead> = lanes.into_iter().filter(|it| !it.is_held_up).collect();
        let step = competing.len().div_ceil(COUNTED).max(1);
        let mut left = MOST;
        for lane in competing.into_iter().step_by(step) {
            if left <= 0 {
                self.is_capped = true;
                break;
            }
            let jobs = count(spi, &lane.spec, lane.head, lane.before, left)?;
            left -= jobs;
            self.rivals.push(Rival {
                spec: lane.spec,
                jobs: jobs as f64 * each * step as f64,
            });
        }
        Ok(())
    }

    /// The jobs that come before it at its gate of a kind; none at that of a session which it holds.
    pub fn at(&self, job: &Waiting, kind: GateKind) -> f64 {
        let key = job.spec.key_of(kind);
        if key == 0 {
            return 0.0;
        }
        let rivals = self.rivals.iter().filter(|it| it.spec.key_of(kind) == key);
        self.own_lane as f64 + rivals.map(|it| it.jobs).sum::<f64>()
    }

    /// The same at a queue that its tenants share by weight: of each other tenant's jobs as many come before it as are due
    /// by its weight, however long they have waited.
    pub fn at_fair_queue(&self, job: &Waiting, weight: impl Fn(u64) -> f64) -> f64 {
        let mut by_tenant: HashMap<u64, f64> = HashMap::new();
        for rival in self
            .rivals
            .iter()
            .filter(|it| it.spec.queue == job.spec.queue)
        {
            *by_tenant.entry(rival.spec.tenant).or_default() += rival.jobs;
        }
        let own = self.own_lane as f64 + by_tenant.remove(&job.spec.tenant).unwrap_or_default();
        let turns = (own + 1.0) / weight(job.spec.tenant);
        let others = by_tenant.into_iter();
        own + others
            .map(|(tenant, jobs)| jobs.min(turns * weight(tenant)))
            .sum::<f64>()
    }

    pub fn tenants(&self) -> Vec<u64> {
        let mut tenants: Vec<u64> = self.rivals.iter().map(|it| it.spec.tenant).collect();
        tenants.sort_unstable();
        tenants.dedup();
        tenants
    }
}

fn count(spi: &Spi, spec: &LaneSpec, from: i64, before: i64, most: i64) -> Result<i64> {
    let arguments = [
        datum(spec.group().cast_signed()),
        datum(spec.lane.cast_signed()),
        datum(from),
        datum(before),
        datum(most),
    ];
    spi.run(&COUNT_BEFORE, &arguments)?.required(0, 1)
}
