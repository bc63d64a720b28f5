//! Unique keys: which modes there are and how long a job holds its key; or in which states, where a producer says that.

use crate::job::state::{self, FINISHED, State, WAITING};
use crate::pg::error::{Failure, Result, bad_value, null_element, quoted};
use crate::pg::seeded::{Seeded, armed};

/// How long a job keeps other jobs with its key out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    UntilExecuting,
    UntilExecuted,
    UntilExpired,
    WhileExecuting,
    UntilAndWhileExecuting,
    Replace,
}

/// The stage of the job that took a key last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Available or scheduled, and never started.
    Waiting,
    /// Waiting for another attempt.
    Retrying,
    Running,
    /// Completed, cancelled, discarded or deleted.
    Gone,
}

const NAMES: [(Mode, &str); 6] = [
    (Mode::UntilExecuting, "until_executing"),
    (Mode::UntilExecuted, "until_executed"),
    (Mode::UntilExpired, "until_expired"),
    (Mode::WhileExecuting, "while_executing"),
    (Mode::UntilAndWhileExecuting, "until_and_while_executing"),
    (Mode::Replace, "replace"),
];

impl Mode {
    pub fn named(name: &str) -> Option<Self> {
        let known = NAMES.into_iter().find(|&(_, known)| known == name);
        known.map(|(mode, _)| mode)
    }

    pub fn required(name: &str) -> Result<Self> {
        Self::named(name).ok_or_else(|| unknown(name))
    }

    pub fn name(self) -> &'static str {
        let known = NAMES.into_iter().find(|&(mode, _)| mode == self);
        known.map_or("", |(_, name)| name)
    }

    /// Whether a job of this mode keeps its key at this stage, as long as its window is not over. This is all that
    /// the modes mean for `enqueue`; `docs/concepts/unique-keys.md` has it as a table.
    pub fn keeps_key(self, stage: Stage) -> bool {
        use Stage::{Gone, Retrying, Waiting};
        match self {
            Mode::UntilExecuting | Mode::UntilAndWhileExecuting => stage == Waiting,
            Mode::Replace => matches!(stage, Waiting | Retrying),
            Mode::UntilExecuted => stage != Gone,
            Mode::UntilExpired => true,
            Mode::WhileExecuting => false,
        }
    }

    /// Whether a start frees the key. Then a waiting job must not be started before the transactions that rely on the
    /// key have committed.
    pub fn ends_at_start(self) -> bool {
        self.keeps_key(Stage::Waiting) && !self.keeps_key(Stage::Running)
    }
}

/// Whether the mode in a row lets one job with its key run at a time. The queries that read lanes from the tables
/// say the same.
pub fn runs_alone(mode: Option<&str>) -> bool {
    let mode = mode.and_then(Mode::named);
    matches!(
        mode,
        Some(Mode::WhileExecuting | Mode::UntilAndWhileExecuting)
    )
}

/// The states in which a job holds its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct States(Vec<State>);

impl States {
    /// Those of these names that are states.
    fn known<'n>(names: impl Iterator<Item = &'n str> + Clone) -> Self {
        let is_named = |state: &State| names.clone().any(|name| name == state.name());
        Self(state::all().filter(is_named).collect())
    }

    /// What a producer asked for, which must make sense.
    pub fn required(names: &[Option<String>]) -> Result<Self> {
        let states = Self::known(names.iter().flatten().map(String::as_str));
        for name in names {
            let name = name
                .as_deref()
                .ok_or_else(|| null_element("unique_states"))?;
            if State::named(name).is_none() {
                return Err(bad_value("unique_states names an unknown state")
                    .detail(format!("It is {}.", quoted(name)))
                    .hint("Use available, scheduled, retryable, blocked, running, completed, cancelled and discarded."));
            }
        }
        match states.has(State::Available) {
            true => Ok(states),
            false => Err(bad_value("unique_states must contain available")
                .detail("A job holds its key from when it is enqueued.")
                .hint(
                    "Add available, and each other state in which the job is to keep others out.",
                )),
        }
    }

    pub fn has(&self, state: State) -> bool {
        self.0.contains(&state)
    }

    /// Whether a job that has ended may hold its key.
    pub fn has_finished(&self) -> bool {
        FINISHED.into_iter().any(|state| self.has(state))
    }

    fn waiting(&self) -> Vec<&'static str> {
        state::names(WAITING.into_iter().filter(|&state| self.has(state)))
    }
}

/// How long a job keeps other jobs with its key out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hold {
    Mode(Mode),
    States(States),
}

impl Hold {
    /// What a row says: one of the two is NULL. The states are separated by commas.
    pub fn stored(mode: Option<&str>, states: Option<&str>) -> Result<Self> {
        match (mode, states) {
            (None, Some(states)) => Ok(Self::States(States::known(states.split(',')))),
            (mode, _) => Mode::required(mode.unwrap_or_default()).map(Self::Mode),
        }
    }

    pub fn mode(&self) -> Option<Mode> {
        match self {
            Self::Mode(mode) => Some(*mode),
            Self::States(_) => None,
        }
    }

    /// As the columns have it.
    pub fn mode_name(&self) -> Option<&'static str> {
        self.mode().map(Mode::name)
    }

    pub fn state_names(&self) -> Option<Vec<&'static str>> {
        match self {
            Self::Mode(_) => None,
            Self::States(states) => Some(state::names(states.0.iter().copied())),
        }
    }

    /// Whether a job keeps its key at this stage and in this state, live or finished, as long as its window is not over.
    pub fn keeps_key(&self, stage: Stage, state: Option<State>) -> bool {
        match self {
            Self::Mode(mode) => mode.keeps_key(stage),
            Self::States(states) => {
                state.is_some_and(|state| states.has(state) || armed(Seeded::HoldInAnyState))
            }
        }
    }

    /// See [`Mode::ends_at_start`].
    pub fn ends_at_start(&self) -> bool {
        match self {
            Self::Mode(mode) => mode.ends_at_start(),
            Self::States(states) => !states.has(State::Running),
        }
    }

    /// The states in which a waiting job keeps its key, and whether it may have started before.
    pub fn waiting(&self) -> (Vec<&'static str>, bool) {
        match self {
            Self::Mode(mode) => (state::names(WAITING), mode.keeps_key(Stage::Retrying)),
            Self::States(states) => (states.waiting(), true),
        }
    }
}

impl Stage {
    /// `state` is that of the live job, if there is one.
    pub fn of(state: Option<State>, has_started: bool) -> Self {
        match (state, has_started) {
            (None, _) => Stage::Gone,
            (Some(State::Running), _) => Stage::Running,
            (Some(_), false) => Stage::Waiting,
            (Some(_), true) => Stage::Retrying,
        }
    }
}

fn unknown(name: &str) -> Failure {
    bad_value("unique_mode is unknown")
        .detail(format!("It is {}.", quoted(name)))
        .hint("Use until_executing, until_executed, until_expired, while_executing, until_and_while_executing or replace.")
}
