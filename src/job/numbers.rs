//! Ids and positions of new jobs: each higher than all that were drawn before, by whatever means.
//!
//! They come from the sequences of the schema. Where nobody else draws from these much, numbers are drawn ahead, for all backends
//! together ([`Stock`]). See docs/decisions/057-numbers-drawn-ahead.md.

use crate::pg::catalog;
use crate::pg::error::Result;
use crate::pg::sequence::{Page, Place};
use crate::shmem::{self, FILL, Numbers, Stock};
use pgrx::pg_sys::Oid;
use std::cell::Cell;
use std::ffi::CStr;
use std::ops::RangeInclusive;
use std::thread::LocalKey;

/// Where the page of a sequence is, as of a version of the catalog.
type Known = Cell<Option<(u64, Place)>>;

thread_local! {
    static IDS: Known = const { Cell::new(None) };
    static POSITIONS: Known = const { Cell::new(None) };
}

/// Where new jobs come: their ids and positions, in order.
pub struct Places {
    job_table: Oid,
    /// How many jobs there are that have no place yet.
    wanted: u32,
    ids: RangeInclusive<i64>,
    positions: RangeInclusive<i64>,
}

impl Places {
    /// For so many jobs.
    pub fn of(job_table: Oid, jobs: usize) -> Self {
        let none = RangeInclusive::new(1, 0);
        Self {
            job_table,
            wanted: u32::try_from(jobs).unwrap_or(u32::MAX),
            ids: none.clone(),
            positions: none,
        }
    }

    /// The id and the position of the next job.
    pub fn next(&mut self) -> Result<(i64, i64)> {
        let id = next_of(&mut self.ids, self.job_table, Numbers::Ids, self.wanted)?;
        let (positions, kind) = (&mut self.positions, Numbers::Positions);
        let position = next_of(positions, self.job_table, kind, self.wanted)?;
        self.wanted = self.wanted.saturating_sub(1);
        Ok((id, position))
    }
}

fn next_of(
    drawn: &mut RangeInclusive<i64>,
    job_table: Oid,
    numbers: Numbers,
    wanted: u32,
) -> Result<i64> {
    match drawn.next() {
        Some(number) => Ok(number),
        None => {
            *drawn = draw(job_table, numbers, wanted)?;
            Ok(drawn.next().unwrap_or_default())
        }
    }
}

/// The next number.
pub fn next(job_table: Oid, numbers: Numbers) -> Result<i64> {
    draw(job_table, numbers, 1).map(|drawn| *drawn.start())
}

/// The last number that was drawn; none if none was yet.
pub fn last(job_table: Oid, numbers: Numbers) -> Result<Option<i64>> {
    let sequence = name(numbers);
    if let Some(stock) = shmem::stock(job_table, numbers).filter(|stock| stock.is_in_use()) {
        let page = Page::lock(catalog::relation(sequence)?);
        let last = stock.last_taken(page.version());
        page.release();
        if last.is_some() {
            return Ok(last);
        }
    }
    catalog::last_number(sequence)
}

fn name(numbers: Numbers) -> &'static CStr {
    match numbers {
        Numbers::Ids => c"job_id_seq",
        Numbers::Positions => c"job_position_seq",
    }
}

/// Draws at least one number, and at most as many as are wanted.
fn draw(job_table: Oid, numbers: Numbers, wanted: u32) -> Result<RangeInclusive<i64>> {
    let stock = shmem::stock(job_table, numbers);
    if let Some(stock) = stock.filter(|stock| stock.is_in_use()) {
        let version = place(numbers).and_then(|place| place.version());
        let taken = version.map(|version| stock.take(version, wanted));
        if let Some(taken) = taken.flatten() {
            return Ok(taken);
        }
        if let Some(taken) = take_or_fill(stock, numbers, wanted)? {
            return Ok(taken);
        }
    }
    let number = catalog::next_number(name(numbers))?;
    if let Some(stock) = stock {
        stock.note_single(number);
    }
    Ok(number..=number)
}

/// None where it does not pay, or must not be done.
fn take_or_fill(
    stock: &Stock,
    numbers: Numbers,
    wanted: u32,
) -> Result<Option<RangeInclusive<i64>>> {
    let sequence = catalog::relation(name(numbers))?;
    let page = Page::lock(sequence);
    let taken = stock.take(page.version(), wanted).or_else(|| {
        let drawn = stock.is_worth_filling().then(|| page.draw(FILL)).flatten();
        match drawn {
            Some(drawn) => stock.fill(page.version(), &drawn),
            None => stock.clear(),
        }
        stock.take(page.version(), wanted)
    });
    catalog::watch(sequence);
    known(numbers).set(Some((catalog::version(), page.place())));
    page.release();
    Ok(taken)
}

fn known(numbers: Numbers) -> &'static LocalKey<Known> {
    match numbers {
        Numbers::Ids => &IDS,
        Numbers::Positions => &POSITIONS,
    }
}

fn place(numbers: Numbers) -> Option<Place> {
    let (version, place) = known(numbers).get()?;
    (version == catalog::version()).then_some(place)
}
