//! How large a jsonb is with its numbers written out: 1e131071 takes a few bytes, and has 131,072 digits as text.

use crate::pg::error::{Failure, Result};
use pgrx::prelude::PgSqlErrorCode;
use std::ops::Range;

// utils/jsonb.h
const WORD: usize = 4;
const COUNT: u32 = 0x0FFF_FFFF;
const IS_OBJECT: u32 = 0x2000_0000;
const HAS_OFFSET: u32 = 0x8000_0000;
const LENGTH: u32 = 0x0FFF_FFFF;
const TYPE: u32 = 0x7000_0000;
const NUMBER: u32 = 0x1000_0000;
const CONTAINER: u32 = 0x5000_0000;

// utils/adt/numeric.c
const FORM: u16 = 0xC000;
const SHORT: u16 = 0x8000;
const SPECIAL: u16 = 0xC000;
const DIGITS_OF_WEIGHT: usize = 4;
const MOST_DIGITS: usize = 131_072 + 16_383;

/// The least that a number of so many digits takes.
const LEAST_BYTES: usize = 8;
/// A byte of an ordinary number stands for so many digits at most.
const DIGITS_OF_BYTE: usize = 2;

/// The size of a jsonb without its header, and in it the digits that its bytes do not stand for. Not counted where they
/// cannot decide whether it is more than `most`.
pub fn written_size(jsonb: &[u8], most: usize) -> Result<usize> {
    let size = jsonb.len();
    let hidden_at_most = (size / LEAST_BYTES).saturating_mul(MOST_DIGITS);
    if size > most || size.saturating_add(hidden_at_most) <= most {
        return Ok(size);
    }
    let hidden = hidden_digits(jsonb).ok_or_else(|| {
        Failure::new(
            PgSqlErrorCode::ERRCODE_DATA_CORRUPTED,
            "a jsonb value is damaged",
        )
        .detail("Its parts do not fit into each other.")
        .hint("Look where the value comes from.")
    })?;
    Ok(size.saturating_add(hidden))
}

/// None: the value is damaged.
fn hidden_digits(jsonb: &[u8]) -> Option<usize> {
    let mut hidden = 0_usize;
    let mut open = vec![Container::at(jsonb, 0..jsonb.len())?];
    while let Some(inner) = open.last_mut() {
        match inner.next()? {
            None => {
                open.pop();
            }
            Some(Part::Number(place)) => hidden = hidden.saturating_add(hidden_in(jsonb, place)?),
            Some(Part::Container(place)) => open.push(Container::at(jsonb, place)?),
        }
    }
    Some(hidden)
}

/// A value that may have digits, and its place.
enum Part {
    Number(Range<usize>),
    Container(Range<usize>),
}

/// An array or object that is read: first a word for each value, then the values.
struct Container<'j> {
    words: &'j [u8],
    first: usize,
    next: usize,
    end: usize,
}

impl<'j> Container<'j> {
    fn at(jsonb: &'j [u8], place: Range<usize>) -> Option<Self> {
        let start = place.start.next_multiple_of(WORD);
        let (header, rest) = jsonb.get(start..place.end)?.split_first_chunk()?;
        let header = u32::from_ne_bytes(*header);
        let count = usize::try_from(header & COUNT).ok()?;
        let words = match header & IS_OBJECT {
            0 => count,
            _ => count.checked_mul(2)?,
        };
        let words = rest.get(..words.checked_mul(WORD)?)?;
        let first = start.checked_add(WORD)?.checked_add(words.len())?;
        Some(Self {
            words,
            first,
            next: first,
            end: place.end,
        })
    }

    /// No two values share bytes, so that a damaged jsonb takes no longer than another.
    fn next(&mut self) -> Option<Option<Part>> {
        while let Some((word, rest)) = self.words.split_first_chunk() {
            self.words = rest;
            let word = u32::from_ne_bytes(*word);
            let length = usize::try_from(word & LENGTH).ok()?;
            let from = match word & HAS_OFFSET {
                0 => self.next,
                _ => self.first,
            };
            let place = self.next..from.checked_add(length)?;
            if place.start > place.end || place.end > self.end {
                return None;
            }
            self.next = place.end;
            match word & TYPE {
                NUMBER => return Some(Some(Part::Number(place))),
                CONTAINER => return Some(Some(Part::Container(place))),
                _ => {}
            }
        }
        Some(None)
    }
}

fn hidden_in(jsonb: &[u8], place: Range<usize>) -> Option<usize> {
    let taken = place.len().saturating_add(WORD);
    let number = jsonb.get(place.start.next_multiple_of(WORD)..place.end)?;
    let digits = digits(behind_header(number)?)?;
    Some(digits.saturating_sub(taken.saturating_mul(DIGITS_OF_BYTE)))
}

/// A header has one byte or four: the first says which.
fn behind_header(number: &[u8]) -> Option<&[u8]> {
    let first = *number.first()?;
    let is_short = match cfg!(target_endian = "little") {
        true => first & 0x01 != 0,
        false => first & 0x80 != 0,
    };
    number.get(if is_short { 1 } else { WORD }..)
}

/// The digits before the point, and those behind it.
fn digits(number: &[u8]) -> Option<usize> {
    let header = half(number, 0)?;
    let (weight, scale) = match header & FORM {
        SPECIAL => return Some(0),
        SHORT if header & 0x0040 != 0 => (0, (header & 0x1F80) >> 7),
        SHORT => (i16::try_from(header & 0x003F).ok()?, (header & 0x1F80) >> 7),
        _ => (half(number, 2)?.cast_signed(), header & 0x3FFF),
    };
    let groups = usize::try_from(weight.max(0)).ok()?.saturating_add(1);
    Some(groups.saturating_mul(DIGITS_OF_WEIGHT) + usize::from(scale))
}

fn half(bytes: &[u8], place: usize) -> Option<u16> {
    let half = bytes.get(place..)?.first_chunk()?;
    Some(u16::from_ne_bytes(*half))
}
