//! The settings that cannot be columns: sizes of shared memory and a guard for what is stored with jobs.

#![allow(unsafe_code, reason = "reads a setting that the server keeps")]

use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting, pg_sys};
use std::ffi::CStr;

static MAX_LANES: GucSetting<i32> = GucSetting::<i32>::new(65_536);
static MAX_DATABASES: GucSetting<i32> = GucSetting::<i32>::new(4);
static MAX_PAYLOAD: GucSetting<i32> = GucSetting::<i32>::new(1_048_576);

#[cfg(feature = "seeded_faults")]
static SEEDED_FAULT: GucSetting<Option<std::ffi::CString>> =
    GucSetting::<Option<std::ffi::CString>>::new(None);

#[cfg(feature = "fault_injection")]
static PANIC_AT: GucSetting<i32> = GucSetting::<i32>::new(0);

pub fn register() {
    #[cfg(feature = "seeded_faults")]
    GucRegistry::define_string_guc(
        c"turnstile.seeded_fault",
        c"The mechanism that is left out; see src/pg/seeded.rs.",
        c"Only in test builds.",
        &SEEDED_FAULT,
        GucContext::Suset,
        GucFlags::default(),
    );
    #[cfg(feature = "fault_injection")]
    GucRegistry::define_int_guc(
        c"turnstile.panic_at",
        c"Which change of a slot within each scheduler step panics; 0: none.",
        c"Only in test builds.",
        &PANIC_AT,
        0,
        i32::MAX,
        GucContext::Suset,
        GucFlags::default(),
    );
    GucRegistry::define_int_guc(
        c"turnstile.max_lanes",
        c"Lanes (distinct queue, tenant, account, session, key and priority) with waiting jobs that fit in memory.",
        c"More lanes still run, but slower and not in exact order. About 430 bytes of shared memory each, per database, touched only as needed.",
        &MAX_LANES,
        64,
        16_777_216,
        GucContext::Postmaster,
        GucFlags::default(),
    );
    GucRegistry::define_int_guc(
        c"turnstile.max_databases",
        c"Databases of this server that can have the extension at the same time.",
        c"Each has a scheduler of its own; memory that is never used is never touched.",
        &MAX_DATABASES,
        1,
        1_024,
        GucContext::Postmaster,
        GucFlags::default(),
    );
    GucRegistry::define_int_guc(
        c"turnstile.max_payload",
        c"Largest payload, metadata or result of a job that the functions accept.",
        c"Measured as stored before compression. Keep big data elsewhere and a reference in the job.",
        &MAX_PAYLOAD,
        64,
        1_073_741_823,
        GucContext::Suset,
        GucFlags::UNIT_BYTE,
    );
}

pub fn max_lanes() -> usize {
    usize::try_from(MAX_LANES.get()).unwrap_or(0)
}

pub fn max_databases() -> usize {
    usize::try_from(MAX_DATABASES.get()).unwrap_or(0)
}

#[cfg(feature = "seeded_faults")]
pub fn seeded_fault() -> Option<std::ffi::CString> {
    SEEDED_FAULT.get()
}

#[cfg(feature = "fault_injection")]
pub fn panic_at() -> u32 {
    u32::try_from(PANIC_AT.get()).unwrap_or(0)
}

pub fn max_payload() -> usize {
    usize::try_from(MAX_PAYLOAD.get()).unwrap_or(0)
}

/// The server's own setting; its variable is not exported.
pub fn max_prepared_transactions() -> i32 {
    // SAFETY: the setting exists; its text lives at least until it changes.
    let text = unsafe {
        let text = pg_sys::GetConfigOption(c"max_prepared_transactions".as_ptr(), false, false);
        CStr::from_ptr(text)
    };
    text.to_str()
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0)
}
