//! One reason why a job waits.

use crate::job::gates;
use turnstile_scheduler::GateKind;

/// The closed set of reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    Scheduled,
    Retry,
    Blocked,
    Paused,
    Full,
    Rate,
    SessionBusy,
    SessionOrder,
    UniqueRunning,
    Behind,
    Locked,
    NoWorker,
    OutsideMemory,
}

impl Reason {
    pub fn name(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::Retry => "retry",
            Self::Blocked => "blocked",
            Self::Paused => "paused",
            Self::Full => "full",
            Self::Rate => "rate",
            Self::SessionBusy => "session_busy",
            Self::SessionOrder => "session_order",
            Self::UniqueRunning => "unique_running",
            Self::Behind => "behind",
            Self::Locked => "locked",
            Self::NoWorker => "no_worker",
            Self::OutsideMemory => "outside_memory",
        }
    }

    /// Why a full gate of this kind holds a job up.
    pub fn of_full(kind: GateKind) -> Self {
        match kind {
            GateKind::Session => Self::SessionBusy,
            GateKind::Unique => Self::UniqueRunning,
            _ => Self::Full,
        }
    }
}

/// Jobs of a circle that a sentence names.
const NAMED: usize = 10;

/// Stands in a sentence for the job in the way. No name contains it.
pub const HOLDER: char = '\0';

pub struct Blocker {
    pub reason: Reason,
    pub gate: Option<GateKind>,
    pub name: Option<String>,
    pub running: Option<u32>,
    pub slots: Option<u32>,
    /// When time opens it.
    pub opens_at: Option<i64>,
    pub holder: Option<i64>,
    /// Jobs that wait for each other, and for which it waits by this reason.
    pub circle: Vec<i64>,
    pub detail: String,
}

impl Blocker {
    pub fn new(reason: Reason, detail: impl Into<String>) -> Self {
        Self {
            reason,
            gate: None,
            name: None,
            running: None,
            slots: None,
            opens_at: None,
            holder: None,
            circle: Vec::new(),
            detail: detail.into(),
        }
    }

    pub fn at(self, kind: GateKind, name: Option<&str>) -> Self {
        Self {
            gate: Some(kind),
            name: name.map(Into::into),
            ..self
        }
    }

    /// A time that never comes is none.
    pub fn until(self, time: Option<i64>) -> Self {
        Self {
            opens_at: time.filter(|&time| time < i64::MAX),
            ..self
        }
    }

    pub fn because_of(self, holder: Option<i64>) -> Self {
        Self { holder, ..self }
    }

    /// The sentences for a caller who may know of this job in the way, and of these of the circle.
    pub fn told(&self, holder: Option<i64>, circle: &[i64]) -> String {
        let called = holder.map_or_else(|| "another job".into(), |id| format!("job {id}"));
        let detail = self.detail.replace(HOLDER, &called);
        if self.circle.is_empty() {
            return detail;
        }
        let mut jobs: Vec<String> = circle.iter().take(NAMED).map(i64::to_string).collect();
        let others = self.circle.len() - jobs.len();
        if others > 0 {
            jobs.push(format!("{others} more"));
        }
        let jobs = jobs.join(", ");
        format!(
            "{detail} Jobs wait for each other: {jobs}. None of them goes on before one is cancelled."
        )
    }
}

/// What SQL calls a kind of gate.
pub fn name_of(kind: GateKind) -> &'static str {
    match &gates::of(kind).settings {
        Some(settings) => settings.argument,
        None => "unique",
    }
}
