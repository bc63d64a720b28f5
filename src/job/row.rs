//! A row of `turnstile.job` as the scheduler sees it.

use crate::job::lane::{EVERY_QUEUE, lane_of, session_key};
use crate::job::later::Later;
use crate::job::unique::{Mode, runs_alone};
use crate::job::{column, gates, state};
use crate::pg::seeded::{Seeded, armed};
use crate::pg::tuple::RawRow;
use turnstile_scheduler::figures::State;
use turnstile_scheduler::times::NEVER;
use turnstile_scheduler::{GateKind, LONGEST_NAME, LaneSpec, LeaseView, RunId};

/// Far below where one more would overflow: such a job could never be claimed, and would stop its queue.
const MOST_ATTEMPTS: i32 = 1_000_000_000;

pub const FOR_ITS_TIME: &str = "time";

/// What a job in a state waits for, other than its turn. A claim does not change it, so that indexes may have it.
pub fn waits_for(state: State) -> Option<&'static str> {
    match state {
        State::Available | State::Running => None,
        State::Scheduled | State::Retryable => Some(FOR_ITS_TIME),
        State::Blocked => Some("jobs"),
    }
}

pub struct JobRow {
    pub spec: LaneSpec,
    pub position: i64,
    /// None: not one of a live job.
    pub state: Option<State>,
    /// When a job that was put off falls due.
    pub waits_until: Option<i64>,
    /// That of a run.
    pub lease: Option<LeaseView>,
    /// A spec with only the session's gate: the job holds its session while it waits to be retried.
    pub held_session: Option<LaneSpec>,
}

impl JobRow {
    pub fn is_available(&self) -> bool {
        self.state == Some(State::Available)
    }

    pub fn is_running(&self) -> bool {
        self.state == Some(State::Running)
    }
}

impl RawRow<'_> {
    /// The columns that [`Self::read`] needs.
    pub const COLUMNS: usize = column::UNCOUNTED;

    /// The lane and its group as stored.
    fn lane(&self) -> [Option<i64>; 2] {
        [column::LANE, column::LANE_GROUP].map(|column| self.int8(column))
    }

    pub fn is_in_lane_of(&self, other: &RawRow) -> bool {
        self.lane() == other.lane()
    }

    /// Whether this is the stored lane.
    pub fn is_in(&self, lane: &LaneSpec) -> bool {
        self.int8(column::LANE) == Some(lane.lane.cast_signed())
            && (self.int8(column::LANE_GROUP) == Some(lane.group().cast_signed())
                || armed(Seeded::IgnoreGroup))
    }

    pub fn is_available_in(&self, lane: &LaneSpec) -> bool {
        self.is_available() && self.is_in(lane)
    }

    pub fn state(&self) -> Option<State> {
        state::counted(self.bytes(column::STATE)?)
    }

    /// The job that waits for this one.
    pub fn parent(&self) -> Option<i64> {
        self.far_number(Later::of(self).parent)
    }

    /// What it waits for, where the indexes have it, is as its state says.
    pub fn waits_as_stored(&self) -> bool {
        let stored = self.far_text(Later::of(self).waits_for);
        stored.as_deref() == self.state().and_then(waits_for) || armed(Seeded::IgnoreWaitsFor)
    }

    /// Whether its turn opens its batch.
    pub fn opens_batch(&self) -> bool {
        self.far_flag(Later::of(self).opens_batch)
    }

    /// Whether jobs come after it.
    pub fn has_followers(&self) -> bool {
        self.far_flag(Later::of(self).has_followers)
    }

    /// Whether others have to know how it ended when it has completed: its parent, jobs that come after it, who asks for the
    /// results of its children, or who wants the unique key that it still holds.
    pub fn is_needed_when_completed(&self) -> bool {
        let later = Later::of(self);
        let has_value = |column| self.far(column).is_some();
        has_value(later.parent)
            || has_value(later.children)
            || self.has_followers()
            || self
                .far_texts(later.unique_states)
                .any(|state| state == state::State::Completed.name())
    }

    pub fn is_blocked(&self) -> bool {
        self.is_in_state(state::State::Blocked)
    }

    pub fn is_available(&self) -> bool {
        self.is_in_state(state::State::Available)
    }

    fn is_in_state(&self, state: state::State) -> bool {
        self.bytes(column::STATE) == Some(state.name().as_bytes())
    }

    pub fn is_running(&self) -> bool {
        self.is_in_state(state::State::Running)
    }

    /// Whether it waits for its time.
    pub fn is_put_off(&self) -> bool {
        self.is_in_state(state::State::Scheduled) || self.is_in_state(state::State::Retryable)
    }

    /// Whether it waits, and for no other job.
    pub fn is_waiting(&self) -> bool {
        self.is_available() || self.is_put_off()
    }

    /// Whether a claim of the lane that looks at these positions may take it.
    pub fn waits_in(&self, lane: &LaneSpec, from: i64, before: i64) -> bool {
        let position = self.int8(column::POSITION);
        self.is_available_in(lane) && position.is_some_and(|at| (from..before).contains(&at))
    }

    /// Whether this is a run of the job, and of that attempt.
    pub fn is_run(&self, job_id: i64, attempt: i32) -> bool {
        self.is_running()
            && self.int8(column::ID) == Some(job_id)
            && (self.int4(column::ATTEMPT) == Some(attempt) || armed(Seeded::FinishAnyAttempt))
    }

    /// Which run this is, and when its lease ends; the other states are none.
    pub fn run(&self) -> Option<(RunId, i64)> {
        let run = RunId {
            job: self.int8(column::ID)?,
            attempt: self.int4(column::ATTEMPT)?,
        };
        let lease = self.int8(column::LEASE_EXPIRES_AT).unwrap_or(NEVER);
        self.is_running().then_some((run, lease))
    }

    /// Whether the scheduler need not hear of the change, except of the lease: heartbeat and progress.
    pub fn is_same_to_scheduler(&self, other: &RawRow<'_>) -> bool {
        (self.lane() == other.lane() || armed(Seeded::IgnoreLane))
            && self.int8(column::POSITION) == other.int8(column::POSITION)
            && (self.int8(column::RUN_AT) == other.int8(column::RUN_AT)
                || armed(Seeded::IgnoreRunAt))
            && self.bytes(column::STATE) == other.bytes(column::STATE)
            && self.boolean(column::HOLDS_SESSION) == other.boolean(column::HOLDS_SESSION)
            && self.bytes(column::SESSION) == other.bytes(column::SESSION)
    }

    /// Whether the row is a job for later.
    pub fn is_ahead(&self, now: i64) -> bool {
        self.int8(column::RUN_AT).is_some_and(|time| time > now) && self.is_available()
    }

    /// The name of the column that is invalid, if one is. A count that goes up by one, or stays, is never invalid: a
    /// row that was accepted must be able to run and to end.
    pub fn invalid_column(&self, old: Option<&RawRow>) -> Option<&'static str> {
        let mut names = gates::all()
            .map(|gate| gate.column)
            .chain([(column::KIND, "kind")]);
        let bad_name = names.find(|&(column, _)| {
            self.bytes(column)
                .is_some_and(|name| name.is_empty() || name.len() > LONGEST_NAME)
        });
        let bad_state = self.state().is_none();
        let bad_mode = self
            .text(column::UNIQUE_MODE)
            .is_some_and(|mode| Mode::named(mode).is_none());
        let no_attempt = self.int4(column::MAX_ATTEMPTS).is_some_and(|n| n < 1);
        let count = |column| {
            let before = old.and_then(|old| old.int4(column));
            self.int4(column).is_some_and(|n| {
                let goes_on =
                    before.is_some_and(|before| n == before || n.checked_sub(1) == Some(before));
                !(0..=MOST_ATTEMPTS).contains(&n) && !goes_on
            })
        };
        let no_parent = self.parent().is_some_and(|parent| parent < 1);
        let every_queue = self.bytes(column::QUEUE) == Some(EVERY_QUEUE.as_bytes());
        let no_position = self.int8(column::POSITION) == Some(i64::MAX);
        bad_name
            .map(|(_, name)| name)
            .or(no_parent.then_some("parent"))
            .or(no_position.then_some("position"))
            .or(every_queue.then_some("queue"))
            .or(bad_state.then_some("state"))
            .or(bad_mode.then_some("unique_mode"))
            .or(count(column::ATTEMPT).then_some("attempt"))
            .or(no_attempt.then_some("max_attempts"))
            .or(count(column::UNCOUNTED).then_some("uncounted"))
    }

    pub fn holds_session(&self) -> bool {
        self.boolean(column::HOLDS_SESSION).unwrap_or(false)
    }

    /// Whether the row was made of one that held its session and has left it. In another session it waits for the
    /// turn that its position gives it, and does not run beside what may run there.
    pub fn has_left(&self, old: &RawRow) -> bool {
        let held = old.read().held_session.map(|session| session.lane);
        held.is_some()
            && held != self.read().held_session.map(|session| session.lane)
            && self.holds_session()
            && !armed(Seeded::HoldOtherSession)
    }

    pub fn read(&self) -> JobRow {
        self.read_in(self.lane_as(self.holds_session()))
    }

    /// The lane of the row as it would be if it held its session, or did not.
    pub fn lane_as(&self, holds_session: bool) -> LaneSpec {
        let priority = self.int4(column::PRIORITY).unwrap_or(0);
        let parent = self.parent().map(|parent| parent.to_string());
        lane_of(priority, |gate| {
            let name = match gate.kind {
                GateKind::Batch => parent.as_deref()?,
                _ => self.text(gate.column.0)?,
            };
            let counts = match gate.kind {
                GateKind::Session => !holds_session,
                GateKind::Unique => runs_alone(self.text(column::UNIQUE_MODE)),
                _ => true,
            };
            counts.then_some(name)
        })
    }

    /// The row, whose lane is known.
    pub fn read_in(&self, spec: LaneSpec) -> JobRow {
        let state = self.state();
        let put_off = matches!(state, Some(State::Scheduled | State::Retryable));
        let held = self
            .holds_session()
            .then(|| self.text(column::SESSION))
            .flatten();
        JobRow {
            spec,
            position: self.int8(column::POSITION).unwrap_or(0),
            state,
            waits_until: self.int8(column::RUN_AT).filter(|_| put_off),
            lease: self.run().map(|(run, time)| LeaseView {
                queue: spec.queue,
                run,
                time,
            }),
            held_session: held.map(|name| only_session(session_key(spec.queue, spec.tenant, name))),
        }
    }
}

/// The spec of a held session among the lanes: no job has it as its lane.
pub fn only_session(session: u64) -> LaneSpec {
    LaneSpec {
        lane: session,
        session,
        ..LaneSpec::default()
    }
}
