//! The states of a job, as the tables and the callers name them.

use crate::pg::error::{Result, internal, quoted};
use turnstile_scheduler::figures::{self, Event};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Available,
    Scheduled,
    Retryable,
    Blocked,
    Running,
    Completed,
    Cancelled,
    Discarded,
}

/// How a job has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Completed,
    Cancelled,
    Discarded,
}

/// Live jobs that do not run.
pub const WAITING: [State; 4] = [
    State::Available,
    State::Scheduled,
    State::Retryable,
    State::Blocked,
];

pub const LIVE: [State; 5] = [
    State::Available,
    State::Scheduled,
    State::Retryable,
    State::Blocked,
    State::Running,
];

pub const FINISHED: [State; 3] = [State::Completed, State::Cancelled, State::Discarded];

pub fn all() -> impl Iterator<Item = State> {
    LIVE.into_iter().chain(FINISHED)
}

/// For a message.
pub fn names(states: impl IntoIterator<Item = State>) -> Vec<&'static str> {
    states.into_iter().map(State::name).collect()
}

impl State {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Available => "available",
            Self::Scheduled => "scheduled",
            Self::Retryable => "retryable",
            Self::Blocked => "blocked",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
            Self::Discarded => "discarded",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        all().find(|state| state.name() == name)
    }

    /// What a statement gives, which must be a state.
    pub fn read(name: &str) -> Result<Self> {
        Self::named(name).ok_or_else(|| {
            internal("a job has an unknown state").detail(format!("It is {}.", quoted(name)))
        })
    }

    pub fn is_finished(self) -> bool {
        self.end().is_some()
    }

    /// Whether a job is live and does not run.
    pub fn is_waiting(self) -> bool {
        WAITING.contains(&self)
    }

    pub fn end(self) -> Option<End> {
        match self {
            Self::Completed => Some(End::Completed),
            Self::Cancelled => Some(End::Cancelled),
            Self::Discarded => Some(End::Discarded),
            _ => None,
        }
    }

    /// Where a job can only have ended.
    pub fn required_end(self) -> Result<End> {
        self.end().ok_or_else(|| {
            internal("a job has not ended").detail(format!("It is {}.", self.name()))
        })
    }
}

impl End {
    pub const fn name(self) -> &'static str {
        self.state().name()
    }

    pub const fn state(self) -> State {
        match self {
            Self::Completed => State::Completed,
            Self::Cancelled => State::Cancelled,
            Self::Discarded => State::Discarded,
        }
    }

    pub fn event(self) -> Event {
        match self {
            Self::Completed => Event::Completed,
            Self::Cancelled => Event::Cancelled,
            Self::Discarded => Event::Discarded,
        }
    }
}

/// As the figures count live jobs.
pub fn counted(name: &[u8]) -> Option<figures::State> {
    // Constants, so that no more is compared than for literals.
    const AVAILABLE: &[u8] = State::Available.name().as_bytes();
    const SCHEDULED: &[u8] = State::Scheduled.name().as_bytes();
    const RETRYABLE: &[u8] = State::Retryable.name().as_bytes();
    const RUNNING: &[u8] = State::Running.name().as_bytes();
    const BLOCKED: &[u8] = State::Blocked.name().as_bytes();
    match name {
        AVAILABLE => Some(figures::State::Available),
        SCHEDULED => Some(figures::State::Scheduled),
        RETRYABLE => Some(figures::State::Retryable),
        RUNNING => Some(figures::State::Running),
        BLOCKED => Some(figures::State::Blocked),
        _ => None,
    }
}
