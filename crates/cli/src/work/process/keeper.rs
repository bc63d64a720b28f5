//! The keeper: a process that knows the groups of all commands, and kills them when the program is gone without having done so.
//!
//! It reads numbers: that of a group when it begins, and the same below zero when it was ended. The end of its input is the end of
//! the program, in whatever way. A command's own children are reached by this alone.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::signal::unix::{SignalKind, signal};

use super::spawner::pid_of;

/// Not for users, so the command line does not know it.
const ARGUMENT: &str = "keep-process-groups";

pub fn is_asked_for() -> bool {
    std::env::args_os().nth(1).as_deref() == Some(OsStr::new(ARGUMENT))
}

/// The process itself.
pub fn run() -> ExitCode {
    match keep() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn keep() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let _context = runtime.enter();
    // Who ends a service or closes a terminal sends these to all. The keeper goes last, so nothing reads them.
    let _unread = [
        signal(SignalKind::terminate())?,
        signal(SignalKind::interrupt())?,
        signal(SignalKind::hangup())?,
    ];
    for group in groups_left(&mut io::stdin().lock()) {
        kill(group);
    }
    Ok(())
}

fn groups_left(input: &mut impl Read) -> HashSet<i32> {
    let mut groups = HashSet::new();
    let mut bytes = [0; size_of::<i32>()];
    while input.read_exact(&mut bytes).is_ok() {
        match i32::from_ne_bytes(bytes) {
            begun @ 1.. => _ = groups.insert(begun),
            ended => _ = groups.remove(&ended.saturating_neg()),
        }
    }
    groups
}

/// All of a group at once. That none is left is no error.
pub fn kill(group: i32) {
    if let Some(group) = Pid::from_raw(group) {
        _ = kill_process_group(group, Signal::KILL);
    }
}

/// The keeper as the program sees it.
pub struct Keeper {
    process: Child,
    input: ChildStdin,
    groups: HashSet<i32>,
}

impl Keeper {
    pub fn start() -> io::Result<Self> {
        // The file of the program may have been replaced meanwhile.
        let mut process = Command::new("/proc/self/exe")
            .arg0("turnstile")
            .arg(ARGUMENT)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let input = process.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Self {
            process,
            input,
            groups: HashSet::new(),
        })
    }

    /// Where a child announces its group.
    pub fn input(&mut self) -> io::Result<OwnedFd> {
        self.renew()?;
        self.input.as_fd().try_clone_to_owned()
    }

    pub fn pid(&self) -> Option<Pid> {
        pid_of(&self.process)
    }

    /// There is another keeper if this one was killed.
    pub fn renew(&mut self) -> io::Result<()> {
        if self.process.try_wait()?.is_some() {
            tracing::warn!("the keeper of the commands was killed; there is another");
            let groups = std::mem::take(&mut self.groups);
            *self = Self::start()?;
            for &group in &groups {
                self.tell(group);
            }
            self.groups = groups;
        }
        Ok(())
    }

    pub fn has_begun(&mut self, group: i32) {
        self.groups.insert(group);
    }

    /// To be called while the leader is not reaped yet, so that its number stands for no other group.
    pub fn has_ended(&mut self, group: i32) {
        self.groups.remove(&group);
        self.tell(group.saturating_neg());
    }

    fn tell(&mut self, number: i32) {
        // It fails only if the keeper was killed, and the next one is told of all.
        _ = self.input.write_all(&number.to_ne_bytes());
    }

    /// It goes when its input ends.
    pub fn close(self) {
        let Self {
            mut process, input, ..
        } = self;
        drop(input);
        _ = process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_left_that_have_begun_and_not_ended() {
        let told: Vec<u8> = [7_i32, 8, -7, 9, 7]
            .iter()
            .flat_map(|number| number.to_ne_bytes())
            .collect();
        assert_eq!(groups_left(&mut told.as_slice()), HashSet::from([7, 8, 9]));
    }
}
