//! The keeper: a process that knows the groups of all commands, and kills them when the program is gone without having done so.
//!
//! It reads numbers: that of a group when it begins, and the same below zero when it was ended. The end of its input is the end of
//! the program, in whatever way. A command's own children are reached by this alone.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitCode, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::write;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::signal::unix::{SignalKind, signal};

use super::pid::pid_of;

/// Not for users, so the command line does not know it.
const ARGUMENT: &str = "keep-process-groups";
const LONGEST_WAIT: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

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

/// The keeper as the program sees it. There is another one when it dies or is stopped.
pub struct Keeper {
    process: Child,
    pipe: Pipe,
    groups: HashSet<i32>,
}

impl Keeper {
    pub fn start() -> io::Result<Self> {
        let pipe = Pipe::new()?;
        Ok(Self {
            process: begin(&pipe)?,
            pipe,
            groups: HashSet::new(),
        })
    }

    /// Where a child announces its group.
    pub fn input(&self) -> io::Result<OwnedFd> {
        self.pipe.input.try_clone()
    }

    pub fn pid(&self) -> Option<Pid> {
        pid_of(&self.process)
    }

    /// Another one, which is told of all groups. A process that was stopped would kill nothing.
    pub fn renew(&mut self) -> io::Result<()> {
        _ = self.process.kill();
        let mut old = std::mem::replace(&mut self.process, begin(&self.pipe)?);
        _ = old.wait();
        let told = (self.groups.iter()).try_for_each(|&group| self.pipe.tell_in_time(group));
        // One that does not know all is replaced in its turn.
        told.inspect_err(|_| _ = self.process.kill())
    }

    /// The child has announced it, maybe to one that is gone by now.
    pub fn has_begun(&mut self, group: i32) {
        self.groups.insert(group);
        self.tell(group);
    }

    /// To be called while the leader is not reaped yet, so that its number stands for no other group.
    pub fn has_ended(&mut self, group: i32) {
        self.groups.remove(&group);
        self.tell(group.saturating_neg());
    }

    fn tell(&mut self, number: i32) {
        if self.pipe.tell(number).is_err() {
            // It does not read. The next one is told of all.
            _ = self.process.kill();
        }
    }

    /// It goes when its input ends.
    pub fn close(self) {
        let Self {
            mut process, pipe, ..
        } = self;
        drop(pipe);
        _ = process.wait();
    }
}

fn begin(pipe: &Pipe) -> io::Result<Child> {
    // The file of the program may have been replaced meanwhile.
    Command::new("/proc/self/exe")
        .arg0("turnstile")
        .arg(ARGUMENT)
        .process_group(0)
        .stdin(pipe.output.try_clone()?)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

/// From the program and its commands to the keeper. The program keeps its end, too, so that nobody is killed by SIGPIPE while there is
/// no keeper; and what one has not read, the next one reads.
struct Pipe {
    input: OwnedFd,
    output: OwnedFd,
}

impl Pipe {
    fn new() -> io::Result<Self> {
        let (output, input) = pipe_with(PipeFlags::CLOEXEC)?;
        // Who reads it waits; nobody waits for a reader that does not read.
        fcntl_setfl(&input, fcntl_getfl(&input)? | OFlags::NONBLOCK)?;
        Ok(Self { input, output })
    }

    /// So few bytes go into a pipe at once or not at all.
    fn tell(&self, number: i32) -> io::Result<()> {
        write(&self.input, &number.to_ne_bytes())?;
        Ok(())
    }

    /// To one that has just begun to read.
    fn tell_in_time(&self, number: i32) -> io::Result<()> {
        if self.tell(number).is_ok() {
            return Ok(());
        }
        poll(
            &mut [PollFd::new(&self.input, PollFlags::OUT)],
            Some(&LONGEST_WAIT),
        )?;
        self.tell(number)
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
    #[test]
    fn who_tells_does_not_wait_for_one_that_does_not_read() {
        let pipe = Pipe::new().unwrap();
        let room = (0..1_000_000).find(|&number| pipe.tell(number).is_err());
        assert!(room.is_some());
        assert!(pipe.tell_in_time(1).is_err());
        rustix::io::read(&pipe.output, &mut [0_u8; 8192]).unwrap();
        pipe.tell_in_time(1).unwrap();
    }
}
