//! Unique keys: which modes there are and how long a job holds its key.

use crate::pg::error::{Failure, Result, bad_value, quoted};

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

impl Stage {
    /// `state` is that of the live job, if there is one.
    pub fn of(state: Option<&str>, has_started: bool) -> Self {
        match (state, has_started) {
            (None, _) => Stage::Gone,
            (Some("running"), _) => Stage::Running,
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
