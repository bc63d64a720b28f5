//! A job that is to be added.

use crate::job::lane::queue_key;
use crate::job::routes::{self, Routes};
use crate::job::values::JobValues;
use crate::job::{claim_epoch, queue_settings};
use crate::permission;
use crate::pg::call::datum;
use crate::pg::error::{Result, bad_value};
use crate::pg::spi::Spi;
use pgrx::pg_sys::Datum;

/// What a producer names, for the routes to decide on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Named<'a> {
    pub kind: &'a str,
    pub queue: Option<&'a str>,
    pub tenant: Option<&'a str>,
    pub account: Option<&'a str>,
    pub concurrency_key: Option<&'a str>,
    /// NULL: 0.
    pub priority: Option<i32>,
    pub max_attempts: Option<i32>,
}

/// A job's row.
pub struct NewJob<'a> {
    pub values: JobValues,
    pub tenant: Option<&'a str>,
    /// Its id and position, if they are drawn already.
    pub place: Option<(i64, i64)>,
    pub wait: Wait,
}

/// Whether a new job waits for others.
#[derive(Clone, Copy, Default)]
pub struct Wait {
    /// For jobs that it comes after, or for its children.
    pub is_blocked: bool,
    /// Its children wait for its turn.
    pub opens_batch: bool,
}

/// What the routes and the queue's settings decide.
#[derive(Clone, Copy)]
pub struct Routed {
    queue: Option<Datum>,
    concurrency_key: Option<Datum>,
    priority: Option<Datum>,
    max_attempts: Option<Datum>,
    claim_epoch: Option<Datum>,
}

impl Routed {
    pub fn values(self, asked: &JobValues) -> JobValues {
        JobValues {
            queue: self.queue,
            concurrency_key: self.concurrency_key,
            priority: self.priority,
            max_attempts: self.max_attempts,
            claim_epoch: self.claim_epoch,
            ..*asked
        }
    }
}

impl Named<'_> {
    /// An account is a part of a tenant.
    pub fn check_account(&self) -> Result<()> {
        match self.account.is_some() && self.tenant.is_none() {
            true => Err(bad_value("account needs a tenant")
                .detail("Neither the job nor its parent has a tenant.")
                .hint("Pass the tenant that the account belongs to, or leave the account out.")),
            false => Ok(()),
        }
    }

    /// The values of the job that was asked for, with what the routes and the queue's settings decide.
    pub fn routed(&self, spi: &Spi, asked: &JobValues) -> Result<JobValues> {
        Ok(self.routed_by(&*routes::current(spi)?)?.values(asked))
    }

    /// By routes that were just looked up. The caller must be permitted to enqueue there.
    pub fn routed_by(&self, routes: &Routes) -> Result<Routed> {
        let priority = self.priority.unwrap_or(0);
        let target = routes.target(self.kind, self.queue, self.concurrency_key, priority);
        permission::enqueue(target.queue, self.tenant)?;
        let settings = queue_settings::of_queue(queue_key(target.queue))?;
        let max_attempts = self.max_attempts.unwrap_or(settings.max_attempts);
        let claim_epoch = claim_epoch::of_new(settings.durable_claims)?;
        Ok(Routed {
            queue: datum(target.queue),
            concurrency_key: target.concurrency_key.and_then(datum),
            priority: datum(target.priority),
            max_attempts: datum(max_attempts),
            claim_epoch: claim_epoch.and_then(datum),
        })
    }
}
