//! The thread that starts all commands and reaps those that were given up. A command is killed when the thread ends that has started
//! it, so this one lasts as long as any of them.

use std::io;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use tokio::sync::oneshot;

use super::keeper::{self, Keeper};
use super::pid::pid_of;
use super::raw;

const TRY_AGAIN: Duration = Duration::from_secs(1);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

enum Order {
    Start(Box<Command>, oneshot::Sender<io::Result<Child>>),
    Bury(Pid),
}

/// Clones are the same thread.
#[derive(Clone)]
pub struct Spawner {
    orders: Sender<Order>,
    keeper: Arc<Mutex<Keeper>>,
}

impl Spawner {
    /// `files`: how many commands may have open, if there is a limit. The handle ends when all clones, and with them all groups, are gone.
    pub fn start(files: Option<u64>) -> io::Result<(Self, JoinHandle<()>)> {
        let keeper = Arc::new(Mutex::new(Keeper::start()?));
        let (orders, coming) = channel();
        let spawner = Self {
            orders,
            keeper: Arc::clone(&keeper),
        };
        let watched = Arc::downgrade(&keeper);
        std::thread::Builder::new()
            .name("keeper".to_owned())
            .spawn(move || watch(&watched))?;
        let thread = std::thread::Builder::new()
            .name("spawner".to_owned())
            .spawn(move || serve(&coming, keeper, files))?;
        Ok((spawner, thread))
    }

    pub async fn spawn(&self, command: Command) -> io::Result<Child> {
        let gone = || io::Error::other("the thread that starts commands is gone");
        let (answer, answered) = oneshot::channel();
        let order = Order::Start(Box::new(command), answer);
        self.orders.send(order).map_err(|_| gone())?;
        answered.await.map_err(|_| gone())?
    }

    /// Kills a group, and reaps its leader when that is dead.
    pub fn bury(&self, leader: Pid) {
        _ = self.orders.send(Order::Bury(leader));
    }

    /// Kills what the leader has left behind. It must be dead, and not reaped.
    pub fn end_group(&self, leader: Pid) {
        end_group(&self.keeper, leader);
    }
}

/// Who kills the keeper, and then the program, must not find a moment in which nobody knows the groups.
fn watch(keeper: &Weak<Mutex<Keeper>>) {
    while let Some(process) = keeper.upgrade().and_then(|keeper| lock(&keeper).pid()) {
        // No other thread reaps it before the end, so its number stands for no other process.
        _ = waitid(
            WaitId::Pid(process),
            WaitIdOptions::EXITED | WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT,
        );
        let Some(keeper) = keeper.upgrade() else {
            return;
        };
        let renewed = lock(&keeper).renew();
        match renewed {
            Ok(()) => {
                tracing::warn!("the keeper of the commands was killed or stopped; there is another")
            }
            Err(error) => {
                tracing::warn!(%error, "there is no other keeper of the commands yet");
                std::thread::sleep(TRY_AGAIN);
            }
        }
    }
}

fn serve(orders: &Receiver<Order>, keeper: Arc<Mutex<Keeper>>, files: Option<u64>) {
    let mut dying = Vec::new();
    loop {
        let order = match dying.is_empty() {
            true => orders.recv().map_err(|_| RecvTimeoutError::Disconnected),
            false => orders.recv_timeout(LOOK_AGAIN),
        };
        match order {
            Ok(Order::Start(command, answer)) => {
                let child = start(*command, &keeper, files);
                if let Err(Ok(unwanted)) = answer.send(child)
                    && let Some(leader) = pid_of(&unwanted)
                {
                    end_group(&keeper, leader);
                    dying.push(leader);
                }
            }
            Ok(Order::Bury(leader)) => {
                end_group(&keeper, leader);
                dying.push(leader);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) if dying.is_empty() => break,
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(LOOK_AGAIN),
        }
        dying.retain(|&leader| !is_reaped(leader));
    }
    if let Ok(keeper) = Arc::try_unwrap(keeper) {
        keeper
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .close();
    }
}

fn start(mut command: Command, keeper: &Mutex<Keeper>, files: Option<u64>) -> io::Result<Child> {
    let input = lock(keeper).input()?;
    raw::bind(&mut command, input, files);
    let child = command.spawn()?;
    if let Some(leader) = pid_of(&child) {
        lock(keeper).has_begun(leader.as_raw_nonzero().get());
    }
    Ok(child)
}

fn end_group(keeper: &Mutex<Keeper>, leader: Pid) {
    let group = leader.as_raw_nonzero().get();
    keeper::kill(group);
    lock(keeper).has_ended(group);
}

fn is_reaped(leader: Pid) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    !matches!(waitid(WaitId::Pid(leader), options), Ok(None))
}

fn lock(keeper: &Mutex<Keeper>) -> MutexGuard<'_, Keeper> {
    keeper.lock().unwrap_or_else(PoisonError::into_inner)
}
