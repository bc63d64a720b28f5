//! The number of a child, as the calls of the system take it.

use std::process::Child;

use rustix::process::Pid;

pub fn pid_of(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}
