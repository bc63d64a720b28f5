//! A child that talks in lines, as others see it. `talk` is what goes on with it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use turnstile_client::{Job, Outcome, Run};

use super::protocol::question;
use super::record::Record;
use super::talk::{Order, Reply, Talk};
use crate::work::process::Spawner;
use crate::work::program::Program;
use crate::work::start::start;

/// Closed when it is dropped.
pub struct Child {
    orders: mpsc::UnboundedSender<Order>,
    talk: JoinHandle<()>,
    record: Arc<Record>,
}

impl Child {
    pub async fn start(
        run: &Run,
        program: &Program,
        spawner: &Spawner,
        grace: Duration,
    ) -> Result<Self, Outcome> {
        let (group, pipes) = start(spawner, run, || program.command()).await?;
        let (orders, coming) = mpsc::unbounded_channel();
        let record = Arc::new(Record::default());
        let talk = Talk::new(group, pipes, grace, Arc::clone(&record));
        Ok(Self {
            orders,
            talk: tokio::spawn(talk.go_on(coming)),
            record,
        })
    }

    /// The reply comes when the child has answered or is gone.
    pub fn ask(&self, job: &Job) -> serde_json::Result<oneshot::Receiver<Reply>> {
        let (reply, replied) = oneshot::channel();
        let order = Order::Do {
            run: (job.id, job.attempt),
            line: question(job)?,
            reply,
        };
        if let Err(mpsc::error::SendError(Order::Do { reply, .. })) = self.orders.send(order) {
            _ = reply.send(Reply::NotTaken);
        }
        Ok(replied)
    }

    /// It has to stop, and takes no other job.
    pub fn stop(&self) {
        _ = self.orders.send(Order::Stop);
    }

    pub fn takes_jobs(&self) -> bool {
        !self.orders.is_closed()
    }

    pub fn has_answered(&self) -> bool {
        self.record.has_answered()
    }

    pub fn has_failed(&self) -> bool {
        self.record.has_failed()
    }

    /// The end of its input tells it to go.
    pub async fn close(self) {
        drop(self.orders);
        _ = self.talk.await;
    }
}
