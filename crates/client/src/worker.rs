//! A worker: what it is told, and its life from the first claim to the last end.

use crate::claims::Claims;
use crate::connector::Connector;
use crate::done::Done;
use crate::endings::Endings;
use crate::error::{Error, Result};
use crate::handler::Handler;
use crate::held::HeldRuns;
use crate::life::Life;
use crate::link::Link;
use crate::outcome::StopReason;
use crate::pulse::Pulse;
use crate::run::{Claimed, Run};
use crate::settings::Settings;
use crate::shutdown::Shutdown;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, Semaphore, mpsc};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

/// How long the last ends may take to reach the server.
const LAST_ENDS: Duration = Duration::from_secs(15);
/// What a call costs counts little beside so many jobs.
const WORTH_A_CLAIM: usize = 100;

/// Claims jobs, runs a handler for each, and tells the server how they have ended. See the [crate's page](crate).
#[must_use = "a worker does nothing until it runs"]
pub struct Worker {
    connector: Connector,
    settings: Settings,
}

impl Worker {
    /// One that works on the queue `default`, on one job at a time.
    pub fn new(connector: Connector) -> Self {
        Self {
            connector,
            settings: Settings::default(),
        }
    }

    /// The queues to claim from, in this order: the second is looked at where the first has too few jobs. `*` stands for all.
    pub fn queues<Q: Into<String>>(mut self, queues: impl IntoIterator<Item = Q>) -> Self {
        self.settings.queues = queues.into_iter().map(Into::into).collect();
        self
    }

    /// How many jobs run at once.
    pub fn concurrency(mut self, jobs: usize) -> Self {
        self.settings.concurrency = jobs;
        self
    }

    /// The name that is kept in `job.worker`: by default that of the machine, and the number of the process.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.settings.name = name.into();
        self
    }

    /// How long a run counts as alive without a heartbeat: by default what the queue says.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.settings.lease = Some(lease);
        self
    }

    /// Whether runs are bound to the worker's connection: where that is lost, as the worker has died, they fail at once and not at the
    /// end of their leases. It needs a connection of its own in the server: no pooler in transaction mode.
    pub fn bind_to_connection(mut self, is_bound: bool) -> Self {
        self.settings.is_bound = is_bound;
        self
    }

    /// Whether a run whose result the server refuses completes without it. Else it fails.
    pub fn results_are_optional(mut self, are_optional: bool) -> Self {
        self.settings.results_are_optional = are_optional;
        self
    }

    /// The longest time between heartbeats, from which a run also learns that its job was cancelled: 15 seconds. A third of the lease
    /// if that is shorter.
    pub fn heartbeat(mut self, interval: Duration) -> Self {
        self.settings.heartbeat = interval;
        self
    }

    /// How long it sleeps in the server at a stretch while there is no work: 5 minutes.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.settings.wait = wait;
        self
    }

    /// How long runs may go on after the worker was told to stop, before they are told to: 30 seconds.
    pub fn drain(mut self, drain: Duration) -> Self {
        self.settings.drain = drain;
        self
    }

    /// How long a handler may go on after its run was told to stop, before it is dropped: 10 seconds.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.settings.grace = grace;
        self
    }

    /// Works until it is told to stop. Then all that it has claimed has ended, or was given back.
    ///
    /// It survives lost connections and restarts of the server. An error of a claim that no second try would mend, such as a missing
    /// permission, makes it drain and is returned.
    pub async fn run(self, handler: impl Handler, shutdown: Shutdown) -> Result<()> {
        self.settings.check()?;
        Working::new(self, handler, shutdown).run().await
    }
}

/// A worker that works.
struct Working<H> {
    settings: Arc<Settings>,
    shutdown: Shutdown,
    handler: Arc<H>,
    held: Arc<HeldRuns>,
    /// Endings, heartbeats and progress. Claims have a connection of their own, since they sleep there, and need this one, too.
    link: Arc<Link>,
    connector: Connector,
    /// A permit for each handler that may run.
    room: Arc<Semaphore>,
    /// Told when the server knows of ends.
    freed: Arc<Notify>,
    tasks: TaskTracker,
}

impl<H: Handler> Working<H> {
    fn new(worker: Worker, handler: H, shutdown: Shutdown) -> Self {
        let Worker {
            connector,
            settings,
        } = worker;
        Self {
            room: Arc::new(Semaphore::new(settings.concurrency)),
            link: Arc::new(Link::new("runs", connector.clone())),
            settings: Arc::new(settings),
            handler: Arc::new(handler),
            held: Arc::default(),
            freed: Arc::default(),
            tasks: TaskTracker::new(),
            connector,
            shutdown,
        }
    }

    async fn run(self) -> Result<()> {
        let (link, held) = (Arc::clone(&self.link), Arc::clone(&self.held));
        let pulse = Pulse { link, held };
        tokio::select! {
            result = self.work() => result,
            () = pulse.beat() => Ok(()),
        }
    }

    async fn work(&self) -> Result<()> {
        let (ends, coming) = mpsc::unbounded_channel();
        let endings = Endings {
            link: Arc::clone(&self.link),
            held: Arc::clone(&self.held),
            freed: Arc::clone(&self.freed),
            results_are_optional: self.settings.results_are_optional,
        };
        let give_up = CancellationToken::new();
        let told = give_up.clone();
        let endings = tokio::spawn(async move { endings.send_all(coming, told).await });
        let done = Arc::new(Done::new(ends));
        let mut claims = self.claims(&done);
        let claimed = self.claim_and_run(&mut claims, &done).await;
        // The server fails runs whose connection is gone.
        let connection = claims.into_link();
        let connection = self.settings.is_bound.then_some(connection);
        done.let_go();
        self.drain().await;
        drop(done);
        let undelivered = last_ends(endings, &give_up).await;
        drop(connection);
        claimed?;
        match undelivered {
            0 => Ok(()),
            runs => Err(Error::Undelivered(runs)),
        }
    }

    fn claims(&self, done: &Arc<Done>) -> Claims {
        Claims::new(
            Link::first("claims", self.connector.clone()),
            Arc::clone(&self.link),
            Arc::clone(&self.settings),
            Arc::clone(&self.held),
            Arc::clone(done),
            self.shutdown.clone(),
        )
    }

    async fn claim_and_run(&self, claims: &mut Claims, done: &Arc<Done>) -> Result<()> {
        while self.await_room(done).await {
            self.gather_room(claims.patience()).await;
            let most = self.room().min(self.share());
            for claimed in claims.next(most).await? {
                self.start(claimed, done);
            }
        }
        Ok(())
    }

    /// How many jobs it can take. While the server does not hear of ends it takes no more than twice as many as may run.
    fn room(&self) -> usize {
        let most_held = self.settings.concurrency.saturating_mul(2);
        let room = self.room.available_permits();
        room.min(most_held.saturating_sub(self.held.len()))
    }

    /// Of many jobs a claim takes half, so that handlers run while the server makes the next claim.
    fn share(&self) -> usize {
        let concurrency = self.settings.concurrency;
        concurrency.min(WORTH_A_CLAIM).max(concurrency.div_ceil(2))
    }

    /// Until it can take a job. False: it is to stop.
    async fn await_room(&self, done: &Done) -> bool {
        loop {
            let freed = self.freed.notified();
            if self.shutdown.is_draining() {
                return false;
            }
            if self.room() > 0 {
                return true;
            }
            if self.room.available_permits() > 0 {
                // It is ends that are waited for, and no claim will take them along.
                done.let_go();
            }
            tokio::select! {
                () = freed => {}
                () = self.shutdown.drains() => return false,
            }
        }
    }

    /// Short jobs end soon after each other: then one claim is enough for all of them.
    async fn gather_room(&self, longest: Duration) {
        let is_enough = async {
            while self.room.available_permits() < self.share() {
                self.freed.notified().await;
            }
        };
        let _ = timeout(longest, is_enough).await;
    }

    fn start(&self, claimed: Claimed, done: &Arc<Done>) {
        let Claimed { job, lease, asked } = claimed;
        let id = job.run();
        let stop = self.held.add(id, lease, self.settings.heartbeat, asked);
        let permit = Arc::clone(&self.room).try_acquire_owned().ok();
        // Of the highest level, so that whatever is logged of a run says which one it is.
        let span = tracing::error_span!(
            "run",
            id = job.id,
            attempt = job.attempt,
            queue = job.queue,
            kind = job.kind
        );
        let run = Run {
            job,
            lease,
            stop,
            link: Arc::clone(&self.link),
        };
        let life = Life {
            handler: Arc::clone(&self.handler),
            held: Arc::clone(&self.held),
            freed: Arc::clone(&self.freed),
            done: Arc::clone(done),
            grace: self.settings.grace,
        };
        let is_late = self.shutdown.is_draining();
        self.tasks
            .spawn(async move { life.of(run, permit, is_late).await }.instrument(span));
    }

    /// Runs may end by themselves for a while, and are then told to stop.
    async fn drain(&self) {
        self.tasks.close();
        let deadline = async {
            tokio::select! {
                () = sleep(self.settings.drain) => {}
                () = self.shutdown.stops() => {}
            }
        };
        tokio::select! {
            () = self.tasks.wait() => return,
            () = deadline => {}
        }
        tracing::warn!(runs = self.tasks.len(), "runs are told to stop");
        self.held.stop_all(StopReason::Shutdown);
        self.tasks.wait().await;
    }
}

async fn last_ends(
    mut endings: tokio::task::JoinHandle<usize>,
    give_up: &CancellationToken,
) -> usize {
    if let Ok(undelivered) = timeout(LAST_ENDS, &mut endings).await {
        return undelivered.unwrap_or(0);
    }
    give_up.cancel();
    endings.await.unwrap_or(0)
}
