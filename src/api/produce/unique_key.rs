//! A unique key as the tables know it: its last holder, and how it is taken. `sql/schema/tables/unique.sql` says why this is
//! free of races.

use crate::job::state::State;
use crate::job::unique::{Hold, Stage};
use crate::pg::call::datum;
use crate::pg::error::{Failure, Result, key_not_written};
use crate::pg::rounds::Rounds;
use crate::pg::spi::{Spi, Statement, statement};
use crate::table;
use pgrx::pg_sys::{self, Datum};
use pgrx::prelude::PgSqlErrorCode;
use std::collections::HashSet;

static HOLDER: Statement = statement!("unique_holder", [TEXTOID, TEXTOID]);
static TAKE: Statement = statement!(
    "unique_take",
    [
        TEXTOID,
        TEXTOID,
        INT8OID,
        INT8OID,
        TEXTOID,
        INTERVALOID,
        TEXTARRAYOID
    ]
);
static GIVE_UP: Statement = statement!("unique_give_up", [TEXTOID, TEXTOID, INT8OID]);
static OF_FINISHED: Statement = statement!("unique_of_finished", [INT8ARRAYOID]);

/// A key in its scope: the tenant, or an empty name for jobs without one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key<'a> {
    pub scope: &'a str,
    pub key: &'a str,
}

/// The job that took a key last.
pub struct Holder {
    pub generation: i64,
    pub job_id: i64,
    pub hold: Hold,
    pub stage: Stage,
    /// That of the live job, or in which it has ended, where that counts.
    state: Option<State>,
    is_over: bool,
}

/// A key that this transaction has taken.
pub struct Taken {
    pub generation: i64,
    pub until: Option<Datum>,
}

impl Holder {
    pub fn counts(&self) -> bool {
        !self.is_over && self.hold.keeps_key(self.stage, self.state)
    }
}

impl Key<'_> {
    fn datums(&self) -> [Option<Datum>; 2] {
        [datum(self.scope), datum(self.key)]
    }

    pub fn holder(&self, spi: &Spi) -> Result<Option<Holder>> {
        let rows = spi.run(&HOLDER, &self.datums())?;
        if rows.len() == 0 {
            return Ok(None);
        }
        let state = |column| rows.value(0, column).map(State::read).transpose();
        let live = state(5)?;
        Ok(Some(Holder {
            generation: rows.required(0, 1)?,
            job_id: rows.required(0, 2)?,
            hold: Hold::stored(rows.value(0, 3), rows.value(0, 7))?,
            state: live.or(state(8)?),
            is_over: rows.required(0, 4)?,
            stage: Stage::of(live, rows.value(0, 6).unwrap_or(false)),
        }))
    }

    /// Takes the key from a generation (0: there was none); None if another transaction was first.
    pub fn take(
        &self,
        spi: &Spi,
        generation: i64,
        job_id: i64,
        hold: &Hold,
        window: Option<Datum>,
    ) -> Result<Option<Taken>> {
        let [scope, key] = self.datums();
        let arguments = [
            scope,
            key,
            datum(generation),
            datum(job_id),
            datum(hold.mode_name()),
            window,
            datum(hold.state_names()),
        ];
        let rows = spi.run(&TAKE, &arguments)?;
        if rows.len() == 0 {
            return Ok(None);
        }
        Ok(Some(Taken {
            generation: generation + 1,
            until: rows.get(0, 1),
        }))
    }

    /// Gives the key back, because there is a later generation than the one taken.
    pub fn give_up(&self, spi: &Spi, taken: &Taken) -> Result<()> {
        let [scope, key] = self.datums();
        match spi
            .run(&GIVE_UP, &[scope, key, datum(taken.generation)])?
            .len()
        {
            0 => Err(key_not_written()),
            _ => Ok(()),
        }
    }

    /// Takes the key for a job that it belonged to before; false if another job holds it now. The generation is a new
    /// one in any case, so that the key is not forgotten meanwhile because its holder was gone.
    fn take_back(
        &self,
        spi: &Spi,
        job_id: i64,
        hold: &Hold,
        window: Option<Datum>,
    ) -> Result<bool> {
        let mut takings = Rounds::new();
        loop {
            let holder = self.holder(spi)?;
            if let Some(holder) = &holder
                && holder.job_id != job_id
                && holder.counts()
            {
                return Ok(false);
            }
            let generation = holder.map_or(0, |holder| holder.generation);
            if let Some(taken) = self.take(spi, generation, job_id, hold, window)? {
                let newest = self.holder(spi)?.map(|holder| holder.generation);
                if newest == Some(taken.generation) {
                    return Ok(true);
                }
                self.give_up(spi, &taken)?;
            }
            takings.begin_again(generation, key_not_written)?;
        }
    }
}

/// Takes the keys of finished jobs that are to live again; returns the jobs whose key another job holds, even one of
/// the same call.
pub fn take_back(spi: &Spi, ids: &[i64]) -> Result<HashSet<i64>> {
    // As enqueue does.
    table::lock_jobs(pg_sys::RowExclusiveLock)?;
    let rows = spi.run(&OF_FINISHED, &[datum(ids)])?;
    let mut refused = HashSet::new();
    let mut taken_now = None;
    for row in 0..rows.len() {
        let job_id = rows.required(row, 1)?;
        let key = Key {
            scope: rows.required(row, 2)?,
            key: rows.required(row, 3)?,
        };
        let hold = Hold::stored(rows.value(row, 4), rows.value(row, 6))?;
        if taken_now != Some(key) && key.take_back(spi, job_id, &hold, rows.get(row, 5))? {
            taken_now = Some(key);
        } else {
            refused.insert(job_id);
        }
    }
    Ok(refused)
}

pub fn key_is_taken(job_id: i64) -> Failure {
    Failure::new(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("another job holds the unique key of job {job_id}"),
    )
    .detail("It was enqueued after this one had given the key up.")
    .hint("Wait until that one has ended or cancel it, or enqueue the work anew.")
}
