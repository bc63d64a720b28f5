//! The bounds of backlogs as the tables of settings say, kept by each backend until a commit changes one.

use crate::job::gates;
use crate::pg::call::datum;
use crate::pg::catalog;
use crate::pg::error::Result;
use crate::pg::relation::Opened;
use crate::pg::rights::Owner;
use crate::pg::snapshot::Snapshot;
use crate::pg::spi::{Spi, Statement, statement, with_spi};
use crate::pg::tuple::RawRow;
use crate::shmem::{self, BOUNDED_KINDS, Bound};
use pgrx::pg_sys::{self, Oid};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::CStr;
use turnstile_scheduler::figures::Id;
use turnstile_scheduler::{GateKind, LaneSpec};

static EXIST: Statement = statement!("bounds_exist", []);

/// The columns of the gate and of the bound in the views of settings.
const GATE: i32 = 1;
const MAX_WAITING: i32 = 10;
/// Where bounds are set.
const SETTINGS: [&CStr; 2] = [c"queue", c"tenant"];
/// The most names whose bounds a backend remembers.
const MOST_NAMES: usize = 1_000;
/// Rows that are fetched at once.
const BATCH: i64 = 1_000;

/// The table of jobs, and the version of the bounds.
pub type Version = (Oid, u64);

#[derive(Default)]
struct Kept {
    of: (u32, u64),
    bounds: HashMap<(GateKind, u64), Option<u32>>,
}

thread_local! {
    /// The version in which nothing has a bound.
    static UNBOUNDED: Cell<(u32, u64)> = const { Cell::new((0, 0)) };
    static KEPT: RefCell<Kept> = RefCell::default();
}

/// Whether it is known that nothing has a bound in this version.
pub fn are_none((table, version): Version) -> bool {
    UNBOUNDED.get() == (u32::from(table), version)
}

/// The bounds of a job's queue and tenant.
pub fn bounds_of(version: Version, row: &RawRow) -> Result<Vec<Bound>> {
    if KEPT.with_borrow(|kept| kept.of != known_as(version)) && !look_for_any(version)? {
        return Ok(Vec::new());
    }
    let spec = row.read().spec;
    let mut bounds = Vec::with_capacity(BOUNDED_KINDS.len());
    for (kind, key) in [
        (GateKind::Queue, spec.queue),
        (GateKind::Tenant, spec.tenant),
    ] {
        if key != 0
            && let Some(most) = bound_of(version, kind, key)?
        {
            bounds.push(Bound {
                name: Id { kind, key },
                most,
            });
        }
    }
    Ok(bounds)
}

fn known_as((table, version): Version) -> (u32, u64) {
    (u32::from(table), version)
}

/// Whether anything has a bound. What was known of another version is forgotten.
fn look_for_any(version: Version) -> Result<bool> {
    let (table, number) = version;
    if shmem::recall(table, |read| read.has_no_bounds(number)) == Some(true) {
        UNBOUNDED.set(known_as(version));
        return Ok(false);
    }
    let any = read(|spi| {
        spi.first_row(&EXIST, &[], &Snapshot::take(), |rows| {
            rows.value(0, 1) == Some(true)
        })
    })?;
    let Some(any) = any.map(|any| any == Some(true)) else {
        return Ok(false);
    };
    match any {
        true => KEPT.with_borrow_mut(|kept| {
            *kept = Kept {
                of: known_as(version),
                ..Kept::default()
            }
        }),
        false => {
            UNBOUNDED.set(known_as(version));
            shmem::remember_bounds(table, number, |read| read.note_no_bounds(number));
        }
    }
    Ok(any)
}

fn bound_of(version: Version, kind: GateKind, key: u64) -> Result<Option<u32>> {
    let known = KEPT.with_borrow(|kept| kept.bounds.get(&(kind, key)).copied());
    if let Some(bound) = known {
        return Ok(bound);
    }
    let described = gates::of(kind);
    let Some(settings) = &described.settings else {
        return Ok(None);
    };
    let defaults = described.default_keys(&LaneSpec::default());
    let keys: Vec<u64> = std::iter::once(key).chain(defaults).collect();
    let Some(found) = read(|spi| bounds_in_rows(spi, settings.statement, &keys))? else {
        return Ok(None);
    };
    let bound = gates::first_found(&found, &keys).flatten();
    KEPT.with_borrow_mut(|kept| {
        if kept.of == known_as(version) {
            if kept.bounds.len() >= MOST_NAMES {
                kept.bounds.clear();
            }
            kept.bounds.insert((kind, key), bound);
        }
    });
    Ok(bound)
}

/// The bounds that the rows of settings of these keys have.
fn bounds_in_rows(
    spi: &Spi,
    statement: &Statement,
    keys: &[u64],
) -> Result<HashMap<u64, Option<u32>>> {
    let arguments = [datum(
        keys.iter()
            .map(|key| key.cast_signed())
            .collect::<Vec<i64>>(),
    )];
    let mut found = HashMap::new();
    spi.scan(statement, &arguments, &Snapshot::take(), BATCH, |rows| {
        for row in 0..rows.len() {
            let key: i64 = rows.required(row, GATE)?;
            let most: Option<i32> = rows.value(row, MAX_WAITING);
            found.insert(
                key.cast_unsigned(),
                most.and_then(|most| u32::try_from(most).ok()),
            );
        }
        Ok(())
    })?;
    Ok(found)
}

/// Reads what is committed in the tables of settings, for any caller. Gives nothing where this transaction has
/// rewritten one of them, which hides what is committed.
pub fn read<R>(work: impl FnOnce(&Spi) -> Result<R>) -> Result<Option<R>> {
    for table in SETTINGS {
        let settings = Opened::of(catalog::lock(table, pg_sys::AccessShareLock)?);
        if settings.has_new_storage() {
            return Ok(None);
        }
    }
    Owner::of_jobs()?.run(|| with_spi(work)).map(Some)
}
