//! Adds a job unless another holds its unique key. `sql/schema/unique.sql` says why this is without races.

use crate::api::new_job::{NewJob, UniqueKey};
use crate::call::datum;
use crate::error::Result;
use crate::pending;
use crate::plan::{Rows, Spi, Statement, statement};
use crate::rebuild::{NUMBER, lane_of_row};
use crate::unique::{Mode, Stage};
use pgrx::pg_sys::Datum;

static HOLDER: Statement = statement!("unique_holder", [TEXTOID, TEXTOID]);
static KEEP_WAITING: Statement = statement!("unique_keep_waiting", [INT8OID, BOOLOID]);
static REPLACE: Statement = statement!(
    "unique_replace",
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
    ]
);
static TAKE: Statement = statement!(
    "unique_take",
    [TEXTOID, TEXTOID, INT8OID, INT8OID, TEXTOID, INTERVALOID]
);
static GIVE_UP: Statement = statement!("unique_give_up", [TEXTOID, TEXTOID, INT8OID]);
static INSERT: Statement = statement!(
    "enqueue_unique",
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
        INT8OID,
        INT8OID,
        TEXTOID,
        TEXTOID,
        TIMESTAMPTZOID,
        INT8OID
    ]
);

/// The job that took a key last.
struct Holder {
    generation: i64,
    job_id: i64,
    mode: Mode,
    stage: Stage,
    is_over: bool,
}

/// A key that this transaction has taken.
struct Taken {
    generation: i64,
    job_id: Option<i64>,
    until: Option<Datum>,
}

/// The id of the job, or of the one that holds its key, and whether it was added.
pub fn enqueue_unique(spi: &Spi, job: &NewJob, unique: Option<&UniqueKey>) -> Result<(i64, bool)> {
    let unique = match unique {
        Some(unique) if unique.mode != Mode::WhileExecuting => unique,
        _ => {
            let rows = insert(spi, job, unique, None)?;
            return Ok((rows.required(0, 1)?, true));
        }
    };
    loop {
        pgrx::check_for_interrupts!();
        let holder = find_holder(spi, job, unique)?;
        if let Some(holder) = holder.as_ref().filter(|holder| holder.counts()) {
            if stays_as_found(spi, job, unique, holder)? {
                return Ok((holder.job_id, false));
            }
            continue;
        }
        let generation = holder.map_or(0, |holder| holder.generation);
        if let Some(taken) = take(spi, job, unique, generation)? {
            let rows = insert(spi, job, Some(unique), Some(&taken))?;
            if rows.len() > 0 {
                return Ok((rows.required(0, 1)?, true));
            }
            let arguments = [job.scope(), datum(&*unique.key), datum(taken.generation)];
            spi.run(&GIVE_UP, &arguments)?;
        }
    }
}

impl Holder {
    fn counts(&self) -> bool {
        !self.is_over && self.mode.keeps_key(self.stage)
    }
}

fn find_holder(spi: &Spi, job: &NewJob, unique: &UniqueKey) -> Result<Option<Holder>> {
    let rows = spi.run(&HOLDER, &[job.scope(), datum(&*unique.key)])?;
    if rows.len() == 0 {
        return Ok(None);
    }
    Ok(Some(Holder {
        generation: rows.required(0, 1)?,
        job_id: rows.required(0, 2)?,
        mode: Mode::required(rows.required(0, 3)?)?,
        is_over: rows.required(0, 4)?,
        stage: Stage::of(rows.value(0, 5), rows.value(0, 6).unwrap_or(false)),
    }))
}

/// Does to the holder what the new job asks for; false if the holder has changed meanwhile.
fn stays_as_found(spi: &Spi, job: &NewJob, unique: &UniqueKey, holder: &Holder) -> Result<bool> {
    let waits = matches!(holder.stage, Stage::Waiting | Stage::Retrying);
    if waits && unique.mode == Mode::Replace {
        let id = std::iter::once(datum(holder.job_id));
        let arguments: Vec<_> = job.values.iter().copied().chain(id).collect();
        return Ok(spi.run(&REPLACE, &arguments)?.len() > 0);
    }
    if !holder.mode.ends_at_start() {
        return Ok(true);
    }
    let may_have_started = holder.mode.keeps_key(Stage::Retrying);
    let arguments = [datum(holder.job_id), datum(may_have_started)];
    let rows = spi.run(&KEEP_WAITING, &arguments)?;
    note_kept_waiting(&rows)?;
    Ok(rows.len() > 0)
}

/// Claims pass the job over until this transaction ends, and are told then.
fn note_kept_waiting(rows: &Rows) -> Result<()> {
    if rows.len() > 0 && rows.required(0, NUMBER + 1)? {
        let (lane, position) = (lane_of_row(rows, 0), rows.required(0, NUMBER)?);
        pending::at_current_level(|level| level.kept_waiting.push((lane, position)));
    }
    Ok(())
}

fn take(spi: &Spi, job: &NewJob, unique: &UniqueKey, generation: i64) -> Result<Option<Taken>> {
    let rows = spi.run(
        &TAKE,
        &[
            job.scope(),
            datum(&*unique.key),
            datum(generation),
            datum(job.id),
            datum(unique.mode.name()),
            unique.window,
        ],
    )?;
    if rows.len() == 0 {
        return Ok(None);
    }
    Ok(Some(Taken {
        generation: generation + 1,
        job_id: Some(rows.required(0, 1)?),
        until: rows.get(0, 2),
    }))
}

fn insert<'spi>(
    spi: &'spi Spi,
    job: &NewJob,
    unique: Option<&UniqueKey>,
    taken: Option<&Taken>,
) -> Result<Rows<'spi>> {
    let id = taken.map_or(job.id, |taken| taken.job_id);
    let about_key = [
        datum(id),
        datum(job.position),
        datum(unique.map(|unique| &*unique.key)),
        datum(unique.map(|unique| unique.mode.name())),
        taken.and_then(|taken| taken.until),
        datum(taken.map(|taken| taken.generation)),
    ];
    let arguments: Vec<_> = job.values.iter().copied().chain(about_key).collect();
    spi.run(&INSERT, &arguments)
}
