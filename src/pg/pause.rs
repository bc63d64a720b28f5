//! A call that stops before one of its looks at the tables, until a test lets it go on: for test builds only.

#[cfg(feature = "fault_injection")]
mod switch {
    #![allow(unsafe_code, reason = "waits for a lock of the test")]

    use crate::pg::settings;
    use pgrx::{IntoDatum, direct_function_call, pg_sys};
    use std::cell::Cell;

    thread_local! {
        static LOOKS: Cell<u32> = const { Cell::new(0) };
    }

    /// Counts the looks since `turnstile.pause_at` was set. The one of that number waits for the advisory lock with the number of this
    /// process, which the test holds.
    pub fn before_look() {
        let pause_at = settings::pause_at();
        if pause_at == 0 {
            LOOKS.set(0);
            return;
        }
        LOOKS.set(LOOKS.get() + 1);
        if LOOKS.get() == pause_at {
            // SAFETY: reads a variable of this process; the functions take one number.
            unsafe {
                let key = [i64::from(pg_sys::MyProcPid).into_datum()];
                direct_function_call::<()>(pg_sys::pg_advisory_lock_shared_int8, &key);
                direct_function_call::<bool>(pg_sys::pg_advisory_unlock_shared_int8, &key);
            }
        }
    }
}

#[cfg(feature = "fault_injection")]
pub use switch::before_look;

#[cfg(not(feature = "fault_injection"))]
pub const fn before_look() {}
