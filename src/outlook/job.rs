//! The job that is asked about.

use crate::job::gates;
use crate::job::lane::session_key;
use crate::job::row::only_session;
use crate::job::state::State;
use crate::pg::call::datum;
use crate::pg::error::{Failure, Result, no_such_job};
use crate::pg::spi::{Spi, Statement, statement};
use crate::runs::finish::state_of;
use crate::sync::scan::lane_of_row;
use pgrx::datum::Array;
use pgrx::prelude::PgSqlErrorCode;
use turnstile_scheduler::{GateKind, JobPlace, LaneSpec};

static WAITING_JOB: Statement = statement!("waiting_job", [INT8OID]);

/// A live job that does not run.
pub struct Waiting {
    pub id: i64,
    pub spec: LaneSpec,
    pub position: i64,
    pub is_available: bool,
    pub is_blocked: bool,
    /// It has failed before.
    pub is_retryable: bool,
    pub run_at: i64,
    pub queue: String,
    pub tenant: Option<String>,
    /// Also that which the job holds, and which is not in its lane.
    pub session: Option<String>,
    /// The names that make up its lane, in the order of the kinds of gates.
    names: Vec<Option<String>>,
}

impl Waiting {
    /// An error where there is no such job, or it does not wait.
    pub fn read(spi: &Spi, id: i64) -> Result<Self> {
        if let Some(found) = Self::find(spi, id)? {
            return Ok(found);
        }
        Err(match state_of(spi, id)? {
            Some(state) => does_not_wait(id, state),
            None => no_such_job(id),
        })
    }

    /// Nothing where there is no such job, or it does not wait.
    pub fn find(spi: &Spi, id: i64) -> Result<Option<Self>> {
        let rows = spi.run(&WAITING_JOB, &[datum(id)])?;
        let state = rows.value(0, 4).map(State::read).transpose()?;
        let Some(state) = state.filter(|state| state.is_waiting()) else {
            return Ok(None);
        };
        let names: Option<Array<&str>> = rows.value(0, 1);
        let names = names.iter().flat_map(Array::iter);
        Ok(Some(Self {
            id,
            spec: lane_of_row(&rows, 0),
            position: rows.required(0, 3)?,
            is_available: state == State::Available,
            is_blocked: state == State::Blocked,
            is_retryable: state == State::Retryable,
            run_at: rows.required(0, 5)?,
            queue: rows.required(0, 6)?,
            tenant: rows.value(0, 7),
            session: rows.value(0, 8),
            names: names.map(|name| name.map(str::to_owned)).collect(),
        }))
    }

    pub fn place(&self) -> JobPlace<'_> {
        JobPlace {
            spec: &self.spec,
            position: self.position,
        }
    }

    /// The session that it holds, as a spec with only that gate.
    pub fn held_session(&self) -> Option<LaneSpec> {
        let name = self.session.as_deref().filter(|_| self.spec.session == 0)?;
        let key = session_key(self.spec.queue, self.spec.tenant, name);
        Some(only_session(key))
    }

    /// The name of its gate of a kind, or of the session that it holds.
    pub fn name(&self, kind: GateKind) -> Option<&str> {
        if kind == GateKind::Session {
            return self.session.as_deref();
        }
        let mut kinds = gates::all().map(|gate| gate.kind);
        let at = kinds.position(|it| it == kind)?;
        self.names.get(at)?.as_deref()
    }
}

fn does_not_wait(id: i64, state: State) -> Failure {
    let what = match state {
        State::Running => "runs",
        _ => "has ended",
    };
    Failure::new(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("job {id} does not wait, it {what}"),
    )
    .detail(format!("Its state is {}.", state.name()))
    .hint("Only a job that is available, scheduled, retryable or blocked waits.")
}
