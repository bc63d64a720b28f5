//! One reason why a job waits.

use crate::job::gates;
use std::rc::Rc;
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

    /// Whether others must end first, or have their turn.
    pub fn is_of_jobs(self) -> bool {
        self == Self::Blocked || self.is_of_session()
    }

    pub fn is_of_session(self) -> bool {
        matches!(self, Self::SessionBusy | Self::SessionOrder)
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

/// Jobs that wait for each other, each once.
pub type Circle = Rc<[i64]>;

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
    /// Jobs that wait for each other, for which it waits by this reason.
    pub circle: Option<Circle>,
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
            circle: None,
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

    /// The sentence for a caller who may know of this job in the way.
    pub fn told(&self, holder: Option<i64>) -> String {
        let called = holder.map_or_else(|| "another job".into(), |id| format!("job {id}"));
        self.detail.replace(HOLDER, &called)
    }

    /// The sentences about `jobs` that wait for each other, for a caller who may know of those that are `known`.
    pub fn told_of_circle(jobs: &[i64], known: &[i64]) -> String {
        let named = known.iter().take(NAMED);
        let mut names: Vec<String> = named.map(i64::to_string).collect();
        let others = jobs.len().saturating_sub(names.len());
        if others > 0 {
            names.push(format!("{others} more"));
        }
        let names = names.join(", ");
        format!("Jobs wait for each other: {names}. None of them goes on before one is cancelled.")
    }
}

/// What SQL calls a kind of gate.
pub fn name_of(kind: GateKind) -> &'static str {
    match &gates::of(kind).settings {
        Some(settings) => settings.argument,
        None => "unique",
    }
}
