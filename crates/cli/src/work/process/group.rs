//! A command with all that it starts: a process group, until its leader was reaped.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, pidfd_open,
    waitid,
};
use tokio::io::unix::AsyncFd;
use tokio::net::unix::pipe::{Receiver, Sender};

use super::pid::pid_of;
use super::raw;
use super::spawner::Spawner;

/// Killed when it is dropped.
pub struct Group {
    leader: Pid,
    /// Readable when the leader has ended. It is reaped only after the group was killed: until then no other group has its number.
    descriptor: AsyncFd<OwnedFd>,
    spawner: Spawner,
    ended: Option<Ended>,
}

pub struct Pipes {
    pub input: Sender,
    pub output: Receiver,
    pub errors: Receiver,
}

/// How the leader has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Exit(i32),
    Signal(i32),
}

impl Ended {
    /// What retry curves go by.
    pub fn class(self) -> String {
        match self {
            Ended::Exit(status) => format!("exit.{status}"),
            Ended::Signal(signal) => format!("signal.{signal}"),
        }
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ended::Exit(status) => write!(formatter, "exit status {status}"),
            Ended::Signal(signal) => write!(formatter, "killed by signal {signal}"),
        }
    }
}

impl Group {
    pub async fn start(spawner: &Spawner, mut command: Command) -> io::Result<(Self, Pipes)> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = spawner.spawn(command).await?;
        let leader = pid_of(&child).ok_or(io::ErrorKind::InvalidData)?;
        let descriptor = pidfd_open(leader, PidfdFlags::empty())
            .map_err(io::Error::from)
            .and_then(raw::watched);
        let descriptor = descriptor.inspect_err(|_| spawner.bury(leader))?;
        let group = Self {
            leader,
            descriptor,
            spawner: spawner.clone(),
            ended: None,
        };
        let missing = || io::Error::from(io::ErrorKind::BrokenPipe);
        let pipes = Pipes {
            input: Sender::from_owned_fd(child.stdin.take().ok_or_else(missing)?.into())?,
            output: Receiver::from_owned_fd(child.stdout.take().ok_or_else(missing)?.into())?,
            errors: Receiver::from_owned_fd(child.stderr.take().ok_or_else(missing)?.into())?,
        };
        Ok((group, pipes))
    }

    /// Asks all of the group to end.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    pub fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        if self.ended.is_none() {
            _ = kill_process_group(self.leader, signal);
        }
    }

    /// Waits for the end of the leader. What it has left running is killed then.
    pub async fn end(&mut self) -> io::Result<Ended> {
        if let Some(ended) = self.ended {
            return Ok(ended);
        }
        while !self.is_over() {
            self.descriptor.readable().await?.clear_ready();
        }
        self.spawner.end_group(self.leader);
        let status = waitid(WaitId::Pid(self.leader), WaitIdOptions::EXITED)?;
        let ended = status.as_ref().map_or(Ended::Exit(-1), described);
        self.ended = Some(ended);
        Ok(ended)
    }

    /// Whether the leader has ended by now.
    pub fn is_over(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        self.ended.is_some() || !matches!(waitid(WaitId::Pid(self.leader), options), Ok(None))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.ended.is_none() {
            self.spawner.bury(self.leader);
        }
    }
}

fn described(status: &WaitIdStatus) -> Ended {
    let signal = || status.terminating_signal().map(Ended::Signal);
    status
        .exit_status()
        .map(Ended::Exit)
        .or_else(signal)
        .unwrap_or(Ended::Exit(-1))
}
