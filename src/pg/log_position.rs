//! A place in the log of the server, which tells whether a server still has the transactions that another moment had.

#![allow(
    unsafe_code,
    reason = "asks for places in the log, and calls functions that the bindings lack"
)]

use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{self, List};
use std::mem::size_of;
use std::ptr::null_mut;

const PAGE: u64 = pg_sys::XLOG_BLCKSZ as u64;

// access/timeline.h, which the bindings leave out.
unsafe extern "C-unwind" {
    fn readTimeLineHistory(timeline: u32) -> *mut List;
    fn tliInHistory(timeline: u32, history: *mut List) -> bool;
    fn tliSwitchPoint(timeline: u32, history: *mut List, next: *mut u32) -> u64;
}

/// The end of the log at some moment, of one database.
#[derive(Clone, Copy)]
pub struct LogPosition {
    system: u64,
    database: u32,
    timeline: u32,
    end: u64,
}

impl LogPosition {
    /// Here and now. What is committed is on disk then, also where `synchronous_commit` is off: a crash after it takes nothing back.
    pub fn here() -> Self {
        let position = Self::unflushed();
        flush_to(position.end);
        position
    }

    fn unflushed() -> Self {
        // SAFETY: reads shared memory; the server is not in recovery.
        unsafe {
            Self {
                system: pg_sys::GetSystemIdentifier(),
                database: u32::from(pg_sys::MyDatabaseId),
                timeline: pg_sys::GetWALInsertionTimeLine(),
                end: end_of_last_record(pg_sys::GetXLogInsertRecPtr()),
            }
        }
    }

    /// Whether this server has all that was committed then, and has given none of those transaction ids to others since.
    pub fn is_of_this_history(&self) -> bool {
        let here = Self::unflushed();
        if (self.system, self.database) != (here.system, here.database) || self.end > here.end {
            return false;
        }
        if self.timeline == here.timeline {
            return true;
        }
        // SAFETY: reads the history of the server's own timeline, and asks only for those in it.
        unsafe {
            pg_guard_ffi_boundary(|| {
                let history = readTimeLineHistory(here.timeline);
                tliInHistory(self.timeline, history)
                    && self.end <= tliSwitchPoint(self.timeline, history, null_mut())
            })
        }
    }

    pub fn numbers(&self) -> [u64; 4] {
        [
            self.system,
            u64::from(self.database),
            u64::from(self.timeline),
            self.end,
        ]
    }

    pub fn of_numbers([system, database, timeline, end]: [u64; 4]) -> Option<Self> {
        Some(Self {
            system,
            database: u32::try_from(database).ok()?,
            timeline: u32::try_from(timeline).ok()?,
            end,
        })
    }
}

/// The end of the last record that this transaction has put into the log; 0: there is none.
pub fn last_record() -> u64 {
    // SAFETY: a number of this process.
    unsafe { pg_sys::XactLastRecEnd }
}

/// Returns when all that this transaction has put into the log is on disk.
pub fn flush() {
    flush_to(last_record());
}

fn flush_to(end: u64) {
    // SAFETY: the log has been written that far.
    unsafe { pg_sys::XLogFlush(end) };
}

/// Where the next record begins is where the last one ends, but at the beginning of a page: its header comes between, and is
/// written with the next record.
fn end_of_last_record(next: u64) -> u64 {
    // SAFETY: a constant of the server.
    let segment = unsafe { pg_sys::wal_segment_size } as u64;
    let header = match next % segment < PAGE {
        true => size_of::<pg_sys::XLogLongPageHeaderData>(),
        false => size_of::<pg_sys::XLogPageHeaderData>(),
    } as u64;
    match next % PAGE == header {
        true => next - header,
        false => next,
    }
}
