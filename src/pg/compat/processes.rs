//! Processes, signals and waits.

#![allow(
    unsafe_code,
    reason = "calls functions of the server whose arguments differ"
)]

use pgrx::pg_sys;
use std::ffi::c_int;
#[cfg(not(any(feature = "pg15", feature = "pg16")))]
use std::ffi::c_uint;

/// This process's number in the process array, from 0; negative if it has no place there.
#[inline]
pub fn process_number() -> c_int {
    // SAFETY: a constant of the process.
    unsafe {
        #[cfg(any(feature = "pg15", feature = "pg16"))]
        return (*pg_sys::MyProc).pgprocno;
        #[cfg(not(any(feature = "pg15", feature = "pg16")))]
        return pg_sys::MyProcNumber;
    }
}

/// This transaction as the lists of those that hold locks have it: the process and a number.
pub fn virtual_transaction() -> (c_int, u32) {
    // SAFETY: a process that runs SQL has its place in shared memory, and changes these fields itself.
    unsafe {
        let process = &*pg_sys::MyProc;
        #[cfg(any(feature = "pg15", feature = "pg16"))]
        return (process.backendId, process.lxid);
        #[cfg(not(any(feature = "pg15", feature = "pg16")))]
        return (process.vxid.procNumber, process.vxid.lxid);
    }
}

/// The connection of this process's client; none in a process without one.
pub fn client_socket() -> Option<pg_sys::pgsocket> {
    // SAFETY: the socket is the first field of PostgreSQL's Port, which the bindings do not know.
    unsafe {
        let port = pg_sys::MyProcPort;
        (!port.is_null()).then(|| *port.cast::<pg_sys::pgsocket>())
    }
}

/// # Safety
/// As the server's own `pqsignal`.
pub unsafe fn on_signal(signal: u32, handler: unsafe extern "C-unwind" fn(signal: c_int)) {
    // SAFETY: as the caller says.
    unsafe {
        #[cfg(not(feature = "pg18"))]
        pg_sys::pqsignal(signal.cast_signed(), Some(handler));
        #[cfg(feature = "pg18")]
        pg_sys::pqsignal_be(signal.cast_signed(), Some(handler));
    }
}

/// A set of so many wait events that lives as long as the process.
pub fn lasting_wait_event_set(events: c_int) -> *mut pg_sys::WaitEventSet {
    // SAFETY: the context lives as long as the process, and so does a set without an owner.
    unsafe {
        #[cfg(any(feature = "pg15", feature = "pg16"))]
        return pg_sys::CreateWaitEventSet(pg_sys::TopMemoryContext, events);
        #[cfg(not(any(feature = "pg15", feature = "pg16")))]
        return pg_sys::CreateWaitEventSet(std::ptr::null_mut(), events);
    }
}

/// What the server shows as the wait event of a process that sleeps.
#[cfg(any(feature = "pg15", feature = "pg16"))]
pub fn wait_event() -> u32 {
    pg_sys::PG_WAIT_EXTENSION
}

/// As above, by a name of its own: all processes get the same number for it.
#[cfg(not(any(feature = "pg15", feature = "pg16")))]
pub fn wait_event() -> u32 {
    static EVENT: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    // SAFETY: the server copies the name.
    *EVENT.get_or_init(|| unsafe { pg_sys::WaitEventExtensionNew(c"TurnstileSleep".as_ptr()) })
}

// utils/timeout.h, which the bindings leave out.
#[cfg(not(any(feature = "pg15", feature = "pg16")))]
unsafe extern "C-unwind" {
    fn enable_timeout_after(timeout: c_uint, milliseconds: c_int);
    fn disable_timeout(timeout: c_uint, keep_indicator: bool);
}

#[cfg(not(any(feature = "pg15", feature = "pg16")))]
const TRANSACTION_TIMEOUT: c_uint = 8;

/// Waits between two transactions of a procedure. The server has begun the second by then, whose time begins to count after
/// the wait.
pub fn between_transactions<R>(wait: impl FnOnce() -> R) -> R {
    #[cfg(not(any(feature = "pg15", feature = "pg16")))]
    // SAFETY: the transaction ends with its time switched off, too, if the wait raises an error.
    unsafe {
        disable_timeout(TRANSACTION_TIMEOUT, false);
    }
    let result = wait();
    #[cfg(not(any(feature = "pg15", feature = "pg16")))]
    // SAFETY: as the server itself when a transaction begins.
    unsafe {
        if pg_sys::TransactionTimeout > 0 {
            enable_timeout_after(TRANSACTION_TIMEOUT, pg_sys::TransactionTimeout);
        }
    }
    result
}

/// Keeps `transaction_timeout` from ending transactions of this process, as the server's own upkeep does.
pub fn allow_long_transactions() {
    #[cfg(not(any(feature = "pg15", feature = "pg16")))]
    // SAFETY: the server copies the texts.
    unsafe {
        pg_sys::SetConfigOption(
            c"transaction_timeout".as_ptr(),
            c"0".as_ptr(),
            pg_sys::GucContext::PGC_SUSET,
            pg_sys::GucSource::PGC_S_OVERRIDE,
        );
    }
}
