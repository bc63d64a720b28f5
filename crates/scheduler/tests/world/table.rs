//! What is committed: jobs, their row locks, and limits.

use std::collections::HashMap;

use rand::Rng;
use rand::rngs::SmallRng;
use turnstile_scheduler::{GateKind, GateSettings, LaneSpec, Limit};

pub type JobId = usize;
pub type TransactionId = u64;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    #[default]
    Absent,
    Available,
    Running,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    pub spec: LaneSpec,
    pub position: i64,
    pub state: State,
}

impl Row {
    pub fn is_available(&self) -> bool {
        self.state == State::Available
    }

    pub fn is_running(&self) -> bool {
        self.state == State::Running
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Job {
    pub row: Row,
    pub lock: Option<TransactionId>,
    /// The run was started by a direct change, which no limit holds back.
    pub forced: bool,
}

#[derive(Default)]
pub struct Table {
    pub jobs: Vec<Job>,
    pub limits: Limits,
    sequence: i64,
    far: i64,
    pub now: i64,
    /// When positions were drawn.
    pub drawn: Vec<(i64, i64)>,
}

impl Table {
    /// Leaves gaps, so that a job can be put between two others.
    pub fn next_position(&mut self) -> i64 {
        self.sequence += 2;
        self.drawn.push((self.sequence, self.now));
        self.sequence
    }

    pub fn last_drawn(&self) -> i64 {
        self.sequence
    }

    /// One that will not be drawn.
    pub fn far_position(&mut self, rng: &mut SmallRng) -> i64 {
        self.far += 1;
        self.sequence + 2 * rng.random_range(1..100) + 1_000_000 * self.far + 1
    }

    pub fn earlier_position(&self, rng: &mut SmallRng) -> i64 {
        let back = rng.random_range(0..60);
        (self.sequence - back).max(1)
    }

    pub fn live(&self) -> usize {
        let live = |job: &&Job| job.row.state != State::Absent || job.lock.is_some();
        self.jobs.iter().filter(live).count()
    }

    pub fn free_slot(&mut self) -> JobId {
        let free = |job: &Job| job.row.state == State::Absent && job.lock.is_none();
        self.jobs.iter().position(free).unwrap_or_else(|| {
            self.jobs.push(Job::default());
            self.jobs.len() - 1
        })
    }
}

/// What a limit row is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    Gate(u8, u64),
    Default(u8),
}

impl Target {
    pub fn covers(&self, kind: GateKind, key: u64) -> bool {
        *self == Target::Gate(kind as u8, key) || *self == Target::Default(kind as u8)
    }
}

/// A row of settings. All but the rate holds as a whole.
#[derive(Clone, Copy, Debug)]
pub struct LimitRow {
    pub settings: GateSettings,
    pub inherits_rate: bool,
}

impl LimitRow {
    pub fn has_rate(&self) -> bool {
        !self.inherits_rate && self.settings.rate.is_some()
    }

    fn over(&self, default: &GateSettings) -> GateSettings {
        let own = self.settings;
        match self.inherits_rate {
            true => GateSettings {
                rate: default.rate,
                rate_since: own.rate_since.max(default.rate_since),
                ..own
            },
            false => own,
        }
    }
}

/// A missing row leaves the default in force; sessions and unique keys have fixed limits.
#[derive(Clone, Default)]
pub struct Limits {
    pub rows: HashMap<Target, LimitRow>,
}

impl Limits {
    pub fn in_force(&self, kind: GateKind, key: u64) -> GateSettings {
        let row = self.rows.get(&Target::Gate(kind as u8, key));
        if let Some(limit) = kind.fixed_limit() {
            let paused_until = row.and_then(|row| row.settings.paused_until);
            return GateSettings {
                paused_until,
                ..limit.into()
            };
        }
        let default = self.default_of(kind);
        row.map_or(default, |row| row.over(&default))
    }

    fn default_of(&self, kind: GateKind) -> GateSettings {
        let default = self.rows.get(&Target::Default(kind as u8));
        default.map_or(Limit::None.into(), |row| row.settings)
    }

    pub fn of_target(&self, target: Target) -> GateSettings {
        match target {
            Target::Gate(kind, key) => self.in_force(GateKind::ALL[kind as usize], key),
            Target::Default(kind) => self.default_of(GateKind::ALL[kind as usize]),
        }
    }

    pub fn any_paused_session(&self) -> bool {
        let session = |target: &Target| matches!(target, Target::Gate(kind, _) if *kind == GateKind::Session as u8);
        self.rows.keys().any(session)
    }

    pub fn put(&mut self, target: Target, value: Option<LimitRow>) {
        match value {
            Some(row) => self.rows.insert(target, row),
            None => self.rows.remove(&target),
        };
    }
}

pub fn most(limit: Limit) -> u32 {
    match limit {
        Limit::AtMost(most) => most,
        Limit::None | Limit::Unknown => u32::MAX,
    }
}
