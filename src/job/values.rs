//! The values that a producer gives a job.

use crate::job::column;
use crate::job::later::Later;
use crate::job::state::State;
use crate::pg::call::{datum, word};
use pgrx::pg_sys::Datum;

/// `None` is NULL, or a value that the routes, the queue or the clock decide.
#[derive(Clone, Copy, Default)]
pub struct JobValues {
    pub kind: Option<Datum>,
    pub payload: Option<Datum>,
    pub queue: Option<Datum>,
    pub tenant: Option<Datum>,
    pub account: Option<Datum>,
    pub session: Option<Datum>,
    pub concurrency_key: Option<Datum>,
    pub priority: Option<Datum>,
    pub run_at: Option<Datum>,
    pub max_attempts: Option<Datum>,
    pub metadata: Option<Datum>,
    pub parent: Option<Datum>,
    pub claim_epoch: Option<Datum>,
    /// It is in no line of jobs yet.
    pub is_blocked: bool,
}

/// A statement whose first parameters are [`JobValues::parameters`]; the types of the others follow its name.
macro_rules! job_statement {
    ($name:literal $(, $more:ident)*) => {
        $crate::pg::spi::statement!(
            $name,
            [
                TEXTOID,
                JSONBOID,
                TEXTOID,
                TEXTOID,
                TEXTOID,
                TEXTOID,
                TEXTOID,
                INT4OID,
                TIMESTAMPTZOID,
                INT4OID,
                JSONBOID,
                INT8OID
                $(, $more)*
            ]
        )
    };
}
pub(crate) use job_statement;

impl JobValues {
    /// $1 to $12 of a `job_statement!`.
    pub fn parameters(&self) -> [Option<Datum>; 12] {
        let Self {
            kind,
            payload,
            queue,
            tenant,
            account,
            session,
            concurrency_key,
            priority,
            run_at,
            max_attempts,
            metadata,
            parent,
            // The trigger sets it where a statement adds the job.
            claim_epoch: _,
            is_blocked: _,
        } = *self;
        [
            kind,
            payload,
            queue,
            tenant,
            account,
            session,
            concurrency_key,
            priority,
            run_at,
            max_attempts,
            metadata,
            parent,
        ]
    }

    /// The row of a new job. Its lane is found when it is written.
    pub fn row(
        &self,
        later: &Later,
        id: i64,
        position: i64,
        now: i64,
    ) -> impl Iterator<Item = (usize, Option<Datum>)> {
        let value = move |column| match column {
            column::ID => datum(id),
            column::LANE | column::LANE_GROUP => datum(0_i64),
            column::POSITION => datum(position),
            column::PRIORITY => self.priority,
            column::RUN_AT => self.run_at.or(datum(now)),
            column::STATE => Some(match self.is_blocked {
                true => word!(State::Blocked.name()),
                false => word!(State::Available.name()),
            }),
            column::HOLDS_SESSION => datum(false),
            column::QUEUE => self.queue,
            column::TENANT => self.tenant,
            column::ACCOUNT => self.account,
            column::SESSION => self.session,
            column::CONCURRENCY_KEY => self.concurrency_key,
            column::KIND => self.kind,
            column::ATTEMPT | column::UNCOUNTED => datum(0_i32),
            column::MAX_ATTEMPTS => self.max_attempts,
            column::PAYLOAD => self.payload,
            column::METADATA => self.metadata,
            column::CREATED_AT => datum(now),
            _ => None,
        };
        let later = [
            (later.parent, self.parent),
            (later.claim_epoch, self.claim_epoch),
        ];
        column::OF_NEW_JOBS
            .into_iter()
            .map(move |column| (column, value(column)))
            .chain(later.into_iter().filter(|(_, value)| value.is_some()))
    }
}
