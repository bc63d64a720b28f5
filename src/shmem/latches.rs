//! Latches: how one process waits, and how another wakes it.

#![allow(unsafe_code, reason = "sets latches of the server and waits at them")]

use crate::pg::compat;
use crate::pg::server::now;
use pgrx::pg_sys;
use std::ptr::null_mut;
use std::sync::OnceLock;

const MICROS_PER_MS: i64 = 1_000;

/// This process's place in the process array, from 1.
pub fn own_number() -> u32 {
    // A process that runs SQL has one of the first MaxBackends entries of the process array.
    u32::try_from(compat::process_number()).map_or(0, |number| number + 1)
}

/// What can wake a sleeping process, made once: its latch, the end of the server, and the end of its client.
struct Alarms(*mut pg_sys::WaitEventSet);
// SAFETY: a backend has one thread.
unsafe impl Send for Alarms {}
// SAFETY: a backend has one thread, so none shares it.
unsafe impl Sync for Alarms {}

fn alarms() -> &'static Alarms {
    static ALARMS: OnceLock<Alarms> = OnceLock::new();
    ALARMS.get_or_init(|| {
        // SAFETY: latch, socket and context live as long as the process.
        unsafe {
            let set = compat::lasting_wait_event_set(3);
            let none = pg_sys::PGINVALID_SOCKET;
            let add = |events, socket, latch| {
                pg_sys::AddWaitEventToSet(set, events, socket, latch, null_mut());
            };
            add(pg_sys::WL_LATCH_SET, none, pg_sys::MyLatch);
            add(pg_sys::WL_EXIT_ON_PM_DEATH, none, null_mut());
            if let Some(socket) = compat::client_socket()
                && pg_sys::WaitEventSetCanReportClosed()
            {
                add(pg_sys::WL_SOCKET_CLOSED, socket, null_mut());
            }
            Alarms(set)
        }
    })
}

pub fn wait_until(time: i64) {
    let left = time.saturating_sub(now()).max(0);
    let ms = left.saturating_add(MICROS_PER_MS - 1) / MICROS_PER_MS;
    // SAFETY: the set lives as long as the process; the interrupt handles a client that has gone.
    unsafe {
        let mut event = pg_sys::WaitEvent::default();
        pg_sys::WaitEventSetWait(
            alarms().0,
            ms.min(i64::from(i32::MAX)),
            &mut event,
            1,
            compat::wait_event(),
        );
        if event.events & pg_sys::WL_SOCKET_CLOSED != 0 {
            pg_sys::ClientConnectionLost = 1;
            pg_sys::InterruptPending = 1;
        }
        pg_sys::ResetLatch(pg_sys::MyLatch);
    }
    pgrx::check_for_interrupts!();
}

/// Wakes processes by their places.
pub fn ring(numbers: &[u32]) {
    let own = own_number();
    for &number in numbers.iter().filter(|&&number| number != own) {
        // SAFETY: places are those of entries of the process array; a latch may be set at any time.
        unsafe {
            let processes = (*pg_sys::ProcGlobal).allProcs;
            let process = processes.wrapping_add((number as usize).wrapping_sub(1));
            pg_sys::SetLatch(&raw mut (*process).procLatch);
        }
    }
}
