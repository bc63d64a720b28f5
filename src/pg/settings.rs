//! The settings that cannot be columns: the limit of shared memory and a guard for what is stored with jobs.

#![allow(
    unsafe_code,
    reason = "reads a setting that the server keeps, and reserves the prefix of the extension's own"
)]

use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting, pg_sys};
use std::ffi::CStr;
use std::sync::OnceLock;

/// In kilobytes.
static MAX_MEMORY: GucSetting<i32> = GucSetting::<i32>::new(1_048_576);
static MAX_PAYLOAD: GucSetting<i32> = GucSetting::<i32>::new(1_048_576);

/// Whether the background worker and maintain() fire recurring jobs.
static FIRE_RECURRING: GucSetting<bool> = GucSetting::<bool>::new(true);

/// Whether statements of the session are planned as those of the extension are.
static ASSUME_LARGE_TABLES: GucSetting<bool> = GucSetting::<bool>::new(false);

/// In milliseconds; -1: off.
static LOG_MIN_WAIT_TIME: GucSetting<i32> = GucSetting::<i32>::new(-1);
static LOG_MIN_RUN_TIME: GucSetting<i32> = GucSetting::<i32>::new(-1);

#[cfg(feature = "seeded_faults")]
static SEEDED_FAULT: GucSetting<Option<std::ffi::CString>> =
    GucSetting::<Option<std::ffi::CString>>::new(None);

#[cfg(feature = "fault_injection")]
static PANIC_AT: GucSetting<i32> = GucSetting::<i32>::new(0);
#[cfg(feature = "fault_injection")]
static PAUSE_AT: GucSetting<i32> = GucSetting::<i32>::new(0);

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
    #[cfg(feature = "fault_injection")]
    GucRegistry::define_int_guc(
        c"turnstile.pause_at",
        c"Before which look at the tables the session waits for the advisory lock with the number of its process; 0: none.",
        c"Only in test builds.",
        &PAUSE_AT,
        0,
        i32::MAX,
        GucContext::Suset,
        GucFlags::default(),
    );
    GucRegistry::define_int_guc(
        c"turnstile.max_memory",
        c"Memory that the schedulers of all databases may have together.",
        c"They grow with the lanes that wait, about 200 bytes for each. Past this limit the queues and tenants with the most lanes leave some to the tables.",
        &MAX_MEMORY,
        256,
        i32::MAX,
        GucContext::Sighup,
        GucFlags::UNIT_KB,
    );
    GucRegistry::define_int_guc(
        c"turnstile.max_payload",
        c"Largest payload, metadata or result of a job that the functions accept.",
        c"Measured as stored before compression, and with all digits of its numbers: 1e999 has 1,000. Keep big data elsewhere and a reference in the job.",
        &MAX_PAYLOAD,
        64,
        1_073_741_823,
        GucContext::Suset,
        GucFlags::UNIT_BYTE,
    );
    GucRegistry::define_bool_guc(
        c"turnstile.fire_recurring",
        c"Whether recurring jobs fire.",
        c"Set it to off for a database that is a copy of another: ALTER DATABASE copy SET turnstile.fire_recurring = off.",
        &FIRE_RECURRING,
        GucContext::Suset,
        GucFlags::default(),
    );
    GucRegistry::define_bool_guc(
        c"turnstile.assume_large_tables",
        c"Whether the planner takes the tables of Turnstile for large, and knows nothing of their values, as it does for the statements of Turnstile.",
        c"Only for EXPLAIN of these statements.",
        &ASSUME_LARGE_TABLES,
        GucContext::Suset,
        GucFlags::default(),
    );
    define_log_guc(
        c"turnstile.log_min_wait_time",
        c"Least time for which a job has waited after it was due, so that its start is logged.",
        &LOG_MIN_WAIT_TIME,
    );
    define_log_guc(
        c"turnstile.log_min_run_time",
        c"Least time for which a job has run, so that the end of the run is logged.",
        &LOG_MIN_RUN_TIME,
    );
    // SAFETY: the server copies the text. From here on it refuses other settings that begin so.
    unsafe { pg_sys::MarkGUCPrefixReserved(c"turnstile".as_ptr()) };
}

fn define_log_guc(name: &'static CStr, purpose: &'static CStr, setting: &'static GucSetting<i32>) {
    GucRegistry::define_int_guc(
        name,
        purpose,
        c"-1 logs none, 0 logs all. The client is told nothing.",
        setting,
        -1,
        i32::MAX,
        GucContext::Suset,
        GucFlags::UNIT_MS,
    );
}

pub fn fires_recurring() -> bool {
    FIRE_RECURRING.get()
}

pub fn assume_large_tables() -> bool {
    ASSUME_LARGE_TABLES.get()
}

/// In milliseconds; none: nothing is logged.
pub fn log_min_wait_time() -> Option<i64> {
    least_time(&LOG_MIN_WAIT_TIME)
}

pub fn log_min_run_time() -> Option<i64> {
    least_time(&LOG_MIN_RUN_TIME)
}

fn least_time(setting: &GucSetting<i32>) -> Option<i64> {
    Some(i64::from(setting.get())).filter(|&least| least >= 0)
}

/// In bytes.
pub fn max_memory() -> u64 {
    u64::try_from(MAX_MEMORY.get()).unwrap_or(0) << 10
}

#[cfg(feature = "seeded_faults")]
pub fn seeded_fault() -> Option<std::ffi::CString> {
    SEEDED_FAULT.get()
}

#[cfg(feature = "fault_injection")]
pub fn panic_at() -> u32 {
    u32::try_from(PANIC_AT.get()).unwrap_or(0)
}

#[cfg(feature = "fault_injection")]
pub fn pause_at() -> u32 {
    u32::try_from(PAUSE_AT.get()).unwrap_or(0)
}

pub fn max_payload() -> usize {
    usize::try_from(MAX_PAYLOAD.get()).unwrap_or(0)
}

/// Until the level of settings that was opened last is closed.
pub fn set_in_level(setting: &CStr, value: &CStr) {
    // SAFETY: the server copies both.
    unsafe {
        pg_sys::set_config_option(
            setting.as_ptr(),
            value.as_ptr(),
            pg_sys::GucContext::PGC_USERSET,
            pg_sys::GucSource::PGC_S_SESSION,
            pg_sys::GucAction::GUC_ACTION_SAVE,
            true,
            0,
            false,
        );
    }
}

pub fn max_prepared_transactions() -> i32 {
    let text = of_server(c"max_prepared_transactions");
    text.parse().unwrap_or(0)
}

/// Whether the server checks itself, which it was built for or not.
pub fn has_assertions() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| of_server(c"debug_assertions") == "on")
}

/// A setting of the server whose variable is not exported.
fn of_server(name: &'static CStr) -> String {
    // SAFETY: the setting exists; its text lives at least until it changes, and is copied.
    let text = unsafe { CStr::from_ptr(pg_sys::GetConfigOption(name.as_ptr(), false, false)) };
    text.to_string_lossy().into_owned()
}
