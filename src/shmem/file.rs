//! The memory itself: a file without a name, which the postmaster makes before it forks, so that all processes have it.
//!
//! The file is as long as a file can be, and has pages only where they were asked for. It is divided into windows: the
//! first is for the directory, the others for a database each. A process maps a window whole. So addresses never move,
//! memory grows by a system call that reports what it cannot have, and nothing has to be attached where nothing may fail:
//! in commit callbacks.

#![allow(unsafe_code, reason = "maps memory")]

use rustix::fd::OwnedFd;
use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, ftruncate, memfd_create};
use rustix::io::{Errno, Result};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};
use rustix::param::page_size;
use std::ops::Range;
use std::ptr::null_mut;
use std::sync::OnceLock;

/// What a window has at most, in bytes: addresses, not memory. Where a process may not have so many, it has less.
const LONGEST_WINDOW: u64 = 1 << 35;
const SHORTEST_WINDOW: u64 = 1 << 26;
/// The longest file that can be.
const LONGEST_FILE: u64 = 1 << 62;

static FILE: OnceLock<OwnedFd> = OnceLock::new();

/// How the file is divided.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shape {
    pub window: u64,
    pub windows: u64,
}

/// Makes the file, or empties it where the server starts again after a crash. Called by the postmaster.
pub fn make() -> Result<Shape> {
    let file = match FILE.get() {
        Some(file) => file,
        None => {
            let file = memfd_create("turnstile", MemfdFlags::CLOEXEC)?;
            FILE.get_or_init(|| file)
        }
    };
    ftruncate(file, 0)?;
    let length = longest(LONGEST_FILE, SHORTEST_WINDOW, |length| {
        ftruncate(file, length)
    })?;
    let window = longest(LONGEST_WINDOW.min(length), SHORTEST_WINDOW, |window| {
        let start = map_in(file, 0, window)?;
        // SAFETY: nothing points there yet.
        unsafe { munmap(start.cast(), size(window)) }
    })?;
    Ok(Shape {
        window,
        windows: length / window,
    })
}

/// The largest power of two that works.
fn longest(most: u64, least: u64, works: impl Fn(u64) -> Result<()>) -> Result<u64> {
    let mut tried = most;
    loop {
        match works(tried) {
            Ok(()) => return Ok(tried),
            Err(refused) if tried <= least => return Err(refused),
            Err(_) => tried /= 2,
        }
    }
}

fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

fn map_in(file: &OwnedFd, offset: u64, length: u64) -> Result<*mut u8> {
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping, wherever the system has room for it.
    let start = unsafe {
        mmap(
            null_mut(),
            size(length),
            access,
            MapFlags::SHARED,
            file,
            offset,
        )?
    };
    Ok(start.cast())
}

fn file() -> Result<&'static OwnedFd> {
    FILE.get().ok_or(Errno::BADF)
}

impl Shape {
    /// Maps a window for as long as the process lives.
    pub fn map(&self, window: u64) -> Result<*mut u8> {
        let start = map_in(file()?, window * self.window, self.window)?;
        // A core file would be as long as the window.
        // SAFETY: the mapping is this process's own.
        let _ = unsafe { madvise(start.cast(), size(self.window), Advice::LinuxDontDump) };
        Ok(start)
    }

    /// # Safety
    /// `start` is where [`Self::map`] has put a window, and nothing points there.
    pub unsafe fn unmap(&self, start: *mut u8) {
        // SAFETY: as the caller says. If it fails, some addresses stay in use.
        let _ = unsafe { munmap(start.cast(), size(self.window)) };
    }

    /// Asks the system for the pages of a part of a window. Those that were not there are zero.
    pub fn back(&self, window: u64, part: &Range<u64>) -> Result<()> {
        let offset = window * self.window + part.start;
        loop {
            match fallocate(
                file()?,
                FallocateFlags::empty(),
                offset,
                part.end - part.start,
            ) {
                Err(Errno::INTR) => {}
                result => return result,
            }
        }
    }

    /// Gives the pages of a part of a window back to the system, or empties those that it does not take. `start` is where
    /// this process has mapped the window.
    ///
    /// # Safety
    /// Nothing else may read or write the part meanwhile.
    pub unsafe fn give_back(&self, window: u64, start: *mut u8, part: &Range<u64>) {
        let length = part.end.saturating_sub(part.start);
        if length == 0 {
            return;
        }
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let offset = window * self.window + part.start;
        let given = file().and_then(|file| fallocate(file, flags, offset, length));
        if given.is_err() {
            // SAFETY: the part is within the window; the caller has it to itself.
            unsafe {
                start
                    .wrapping_add(size(part.start))
                    .write_bytes(0, size(length))
            };
        }
    }
}

/// The whole pages that hold so many bytes.
pub fn pages(bytes: u64) -> u64 {
    bytes.next_multiple_of(page_size() as u64)
}
