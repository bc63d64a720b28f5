//! A cursor as text: numbers, and a sum that tells whether something is missing.

use super::known::Known;
use super::since::Since;
use crate::pg::error::{Failure, bad_value, quoted};
use crate::pg::log_position::LogPosition;
use std::fmt::Write;

/// What comes first. Another layout gets another number.
const LAYOUT: u64 = 1;
/// More than any cursor has: two lists of transactions, and two of processes.
const LONGEST: usize = 1 << 20;

/// A place in the history: behind a row of a reading.
#[derive(Clone)]
pub struct Cursor {
    /// What was known before the reading.
    pub before: Known,
    /// What is known once it is at its end.
    pub after: Known,
    /// The last row that was given.
    pub finished_at: i64,
    pub id: i64,
}

impl Cursor {
    /// Reads a cursor of this database.
    pub fn read(text: &str) -> Result<Self, Failure> {
        let (position, cursor) = parse(text).ok_or_else(|| {
            bad_value("since is no cursor")
                .detail(format!("It is {}.", quoted(text)))
                .hint("Pass the cursor of a row as recent() gave it, NULL for the last ten, or 'oldest' for all.")
        })?;
        match position.is_of_this_history() {
            true => Ok(cursor),
            false => Err(bad_value("the cursor is one of another history")
                .detail("It was given by another database, or by a server that had transactions which this one has lost or has yet to make.")
                .hint("Begin anew, with NULL for the last ten, or 'oldest' for all.")),
        }
    }

    /// All but the row, for [`Self::write`].
    pub fn prefix(position: &LogPosition, before: &Known, after: &Known) -> String {
        let mut numbers = vec![LAYOUT];
        numbers.extend(position.numbers());
        for known in [before, after] {
            let Since {
                from,
                writers,
                listed_at,
            } = &known.since;
            numbers.extend([known.end, from.cast_unsigned(), listed_at.cast_unsigned()]);
            push_list(&mut numbers, known.open.iter().map(|id| known.end - id));
            push_list(&mut numbers, writers.iter().copied());
        }
        let mut text = String::new();
        append(&mut text, &numbers);
        text
    }

    pub fn write(prefix: &str, finished_at: i64, id: i64) -> String {
        let mut text = prefix.to_owned();
        append(
            &mut text,
            &[finished_at.cast_unsigned(), id.cast_unsigned()],
        );
        let sum = sum(&text);
        append(&mut text, &[sum]);
        text.pop();
        text
    }
}

fn push_list(numbers: &mut Vec<u64>, list: impl ExactSizeIterator<Item = u64>) {
    numbers.push(list.len() as u64);
    numbers.extend(list);
}

fn append(text: &mut String, numbers: &[u64]) {
    for number in numbers {
        // Writing to a string does not fail.
        let _ = write!(text, "{number:x}.");
    }
}

/// FNV-1a of 32 bits.
fn sum(text: &str) -> u64 {
    let step = |sum: u32, byte: u8| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    u64::from(text.bytes().fold(0x811c_9dc5, step))
}

fn parse(text: &str) -> Option<(LogPosition, Cursor)> {
    if text.len() > LONGEST {
        return None;
    }
    let (content, given) = text.split_at_checked(text.rfind('.')? + 1)?;
    if number(given)? != sum(content) {
        return None;
    }
    let mut numbers = content.strip_suffix('.')?.split('.').map(number);
    let mut next = || numbers.next().flatten();
    if next()? != LAYOUT {
        return None;
    }
    let position = LogPosition::of_numbers([next()?, next()?, next()?, next()?])?;
    let cursor = Cursor {
        before: known(&mut next)?,
        after: known(&mut next)?,
        finished_at: next()?.cast_signed(),
        id: next()?.cast_signed(),
    };
    next().is_none().then_some((position, cursor))
}

fn number(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}

fn known(next: &mut impl FnMut() -> Option<u64>) -> Option<Known> {
    let (end, from, listed_at) = (next()?, next()?, next()?);
    // A time and an id go to the server as numbers with a sign.
    i64::try_from(end).ok()?;
    let open = list(next)?
        .into_iter()
        .map(|distance| end.checked_sub(distance));
    Some(Known {
        end,
        open: open.collect::<Option<_>>()?,
        since: Since {
            from: from.cast_signed(),
            listed_at: listed_at.cast_signed(),
            writers: list(next)?,
        },
    })
}

fn list(next: &mut impl FnMut() -> Option<u64>) -> Option<Vec<u64>> {
    let count = next()?;
    (0..count).map(|_| next()).collect()
}
