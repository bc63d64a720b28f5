//! The only unsafe code of the program: what a child does between fork and exec, and how its end is waited for.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{
    Pid, Resource, Rlimit, Signal, getpid, getppid, getrlimit, set_parent_process_death_signal,
    setrlimit,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The child leads a group of its own, is killed when the thread ends that has started it, and tells the keeper of its group before
/// it can have children itself.
pub fn bind(command: &mut Command, keeper: OwnedFd, files: Option<u64>) {
    let parent = getpid();
    command.process_group(0);
    // SAFETY: between fork and exec only what is safe in a signal handler may be called. These are six system calls, without any
    // allocation, and the errors are numbers of the system.
    unsafe {
        command.pre_exec(move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // The parent may have died before the call.
            if getppid() != Some(parent) {
                return Err(io::Error::from_raw_os_error(
                    rustix::io::Errno::SRCH.raw_os_error(),
                ));
            }
            allow(files);
            announce(&keeper, getpid());
            Ok(())
        });
    }
}

/// As many open files as there were for this program at first.
fn allow(files: Option<u64>) {
    let limit = Rlimit {
        current: files,
        ..getrlimit(Resource::Nofile)
    };
    // It fails only where the system has lowered the other limit, and then the child keeps that.
    _ = setrlimit(Resource::Nofile, limit);
}

/// Where that fails, as nobody reads, the parent sees to it.
fn announce(keeper: &OwnedFd, group: Pid) {
    _ = rustix::io::write(keeper, &group.as_raw_nonzero().get().to_ne_bytes());
}

/// A descriptor of a process is readable when the process has ended.
pub fn watched(process: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: the descriptor is open and the same for as long as its owner lives, which is inside of what is returned.
    let watched = unsafe { AsyncFd::register_with_interest(process, Interest::READABLE) };
    watched.map_err(io::Error::from)
}
