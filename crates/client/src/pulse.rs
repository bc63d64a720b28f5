//! One ticker for all runs: says that they are alive, and hears which of them should stop.

use crate::error::{Remedy, described, is_superseded, remedy};
use crate::held::{Beat, HeldRuns, RunId};
use crate::link::{LOST, Link, READ_ONLY};
use crate::outcome::StopReason;
use crate::send::patient;
use crate::statement::Statement;
use futures_util::future::join_all;
use std::sync::Arc;
use tokio::time::{Instant, sleep_until};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error, Row};

static HEARTBEAT: Statement = Statement {
    text: patient!(
        "run.id, run.attempt, turnstile.heartbeat(run.id, run.attempt, make_interval(secs => run.lease))
           FROM patience, unnest($1, $2, $3) AS run(id, attempt, lease)"
    ),
    types: &[Type::INT8_ARRAY, Type::INT4_ARRAY, Type::FLOAT8_ARRAY],
};

pub(crate) struct Pulse {
    pub link: Arc<Link>,
    pub held: Arc<HeldRuns>,
}

impl Pulse {
    /// Goes on until it is dropped.
    pub(crate) async fn beat(&self) {
        loop {
            match self.held.next_beat() {
                None => self.held.changed().await,
                Some(due) => tokio::select! {
                    () = sleep_until(due) => self.beat_once().await,
                    () = self.held.changed() => {}
                },
            }
        }
    }

    /// While there is no connection leases go on, and each run looks at the end of its own.
    async fn beat_once(&self) {
        let due = self.held.take_due();
        if due.is_empty() {
            return;
        }
        loop {
            let Ok(client) = self.link.client().await else {
                return std::future::pending().await;
            };
            match self.beat_all(&client, &due).await {
                Ok(()) => return self.link.works(),
                Err(error) => {
                    let reason = described(&error);
                    match remedy(&error, &client) {
                        Remedy::Reconnect => self.link.give_up(&client, LOST, &reason).await,
                        Remedy::Elsewhere if self.link.is_read_only(&client).await => {
                            self.link.give_up(&client, READ_ONLY, &reason).await;
                        }
                        // One was lost or is locked, and so none has beaten.
                        _ => {
                            join_all(due.iter().map(|&beat| self.beat_alone(&client, beat))).await;
                            return;
                        }
                    }
                }
            }
        }
    }

    async fn beat_alone(&self, client: &Client, beat: Beat) {
        let Err(error) = self.beat_all(client, &[beat]).await else {
            return;
        };
        let (id, attempt) = beat.run;
        if is_superseded(&error, beat.run) {
            self.held.stop(beat.run, StopReason::Lost);
        } else {
            let error = described(&error);
            tracing::warn!(id, attempt, error, "a heartbeat has failed");
        }
    }

    async fn beat_all(&self, client: &Client, beats: &[Beat]) -> Result<(), Error> {
        let (ids, attempts): (Vec<_>, Vec<_>) = beats.iter().map(|beat| beat.run).unzip();
        let leases: Vec<_> = beats.iter().map(|beat| beat.lease.as_secs_f64()).collect();
        let asked = Instant::now();
        let rows = HEARTBEAT.rows(client, &[&ids, &attempts, &leases]).await?;
        rows.iter().try_for_each(|row| self.hear(row, asked))
    }

    fn hear(&self, row: &Row, asked: Instant) -> Result<(), Error> {
        let run: RunId = (row.try_get(0)?, row.try_get(1)?);
        self.held.beat(run, asked);
        if !row.try_get::<_, bool>(2)? {
            self.held.stop(run, StopReason::Cancelled);
        }
        Ok(())
    }
}
