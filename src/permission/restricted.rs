//! A caller that may not do everything, and what it may do.

use super::denied::denied;
use super::kept::{self, Permissions};
use super::verb::Verb;
use crate::job::column;
use crate::job::lane::EVERY_QUEUE;
use crate::pg::call::datum;
use crate::pg::error::Result;
use crate::pg::rights;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::spi::{Spi, Statement, statement};
use crate::pg::tuple::RawRow;
use pgrx::pg_sys::Oid;
use std::rc::Rc;

static JOB: Statement = statement!("permission_job", [INT8OID]);

/// A caller that may not do everything.
pub struct Restricted {
    pub(super) role: Oid,
    verb: Verb,
    pub(super) permissions: Rc<Permissions>,
}

impl Restricted {
    /// Nothing if the role may do this to all jobs.
    pub(super) fn of(role: Oid, verb: Verb) -> Result<Option<Self>> {
        if rights::is_owner(role)? || armed(Seeded::PermitEverything) {
            return Ok(None);
        }
        let permissions = kept::of_role(role)?;
        let restricted = !permissions.allow(verb, EVERY_QUEUE, Some(EVERY_QUEUE));
        Ok(restricted.then_some(Self {
            role,
            verb,
            permissions,
        }))
    }

    pub fn allows(&self, queue: &str, tenant: Option<&str>) -> bool {
        self.permissions.allow(self.verb, queue, tenant)
    }

    /// Whether the caller may end the run in this row, or do what else the verb allows.
    pub fn allows_row(&self, row: &RawRow) -> bool {
        let queue = row.text(column::QUEUE).unwrap_or_default();
        self.allows(queue, row.text(column::TENANT))
    }

    /// The same of a job, live or finished.
    pub(super) fn allows_job(&self, spi: &Spi, job_id: i64) -> Result<bool> {
        let rows = spi.run(&JOB, &[datum(job_id)])?;
        let allows = |queue: &str| self.allows(queue, rows.value(0, 2));
        Ok(rows.value(0, 1).is_some_and(allows))
    }

    pub(super) fn check(&self, queue: &str, tenant: Option<&str>) -> Result<()> {
        match self.allows(queue, tenant) {
            true => Ok(()),
            false => Err(denied(self.role, self.verb, queue, tenant)),
        }
    }
}

/// The limits of the caller, if it has any.
pub fn restricted(verb: Verb) -> Result<Option<Restricted>> {
    Restricted::of(rights::caller(), verb)
}

/// Whether the caller may change what concerns all queues and tenants.
pub fn operate() -> Result<()> {
    check(Verb::Manage, EVERY_QUEUE, Some(EVERY_QUEUE))
}

pub fn check(verb: Verb, queue: &str, tenant: Option<&str>) -> Result<()> {
    match restricted(verb)? {
        Some(caller) => caller.check(queue, tenant),
        None => Ok(()),
    }
}
