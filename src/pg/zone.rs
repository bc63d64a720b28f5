//! Time zones, as the server knows them.

#![allow(unsafe_code, reason = "reads the time zone data of the server")]

use pgrx::pg_sys::{pg_localtime, pg_time_t, pg_tz, pg_tzset};
use std::ffi::CString;

/// Seconds from the epoch of Unix to that of PostgreSQL.
const EPOCHS_APART: i64 = 946_684_800;

pub struct Zone(*mut pg_tz);

impl Zone {
    /// None: the server knows no zone of that name.
    pub fn named(name: &str) -> Option<Self> {
        let name = CString::new(name).ok()?;
        // SAFETY: the server keeps what it has read of a zone for as long as the process lives.
        let zone = unsafe { pg_tzset(name.as_ptr()) };
        (!zone.is_null()).then_some(Self(zone))
    }

    /// How far local time is ahead of UTC at a time, both in seconds; the time counts from PostgreSQL's epoch.
    pub fn offset(&self, time: i64) -> i64 {
        let time: pg_time_t = time.saturating_add(EPOCHS_APART);
        // SAFETY: the zone is valid; the result is a buffer of the process, which is read at once, or null.
        unsafe {
            let local = pg_localtime(&time, self.0);
            local.as_ref().map_or(0, |local| local.tm_gmtoff)
        }
    }
}
