//! What a new job has to do with others: whose child it is, and after which it comes.

use crate::api::produce::new_job::Named;
use crate::job::values::JobValues;
use crate::permission::{self, Verb};
use crate::pg::call::{Call, datum, required};
use crate::pg::catalog;
use crate::pg::error::{Result, bad_value, no_such_job, null_element};
use crate::pg::seeded::{Seeded, armed};
use crate::pg::spi::{Spi, Statement, statement};
use crate::table::parents;
use crate::transaction::parent::Parent;
use std::rc::Rc;

static UNKNOWN: Statement = statement!("unknown_predecessor", [INT8ARRAYOID]);
static MARK: Statement = statement!("mark_unkept_predecessors", [INT8ARRAYOID]);
static ADD: Statement = statement!(
    "add_dependencies",
    [INT8ARRAYOID, INT8ARRAYOID, BOOLARRAYOID, BOOLARRAYOID]
);

#[derive(Clone, Default)]
pub struct Ties {
    pub parent: Option<i64>,
    pub after: Vec<i64>,
    /// Any end of those will do.
    pub any_end: bool,
    /// It stays blocked after a wrong end.
    pub holds: bool,
}

/// Where the arguments of a call are.
pub struct Places {
    pub parent: usize,
    pub after: usize,
    pub any_end: usize,
    pub holds: usize,
}

impl Places {
    pub fn later_by(&self, places: usize) -> Self {
        Self {
            parent: self.parent + places,
            after: self.after + places,
            any_end: self.any_end + places,
            holds: self.holds + places,
        }
    }
}

impl Ties {
    pub fn of_call(call: &Call, places: &Places) -> Result<Self> {
        let after = call.int8s(places.after, "after")?.unwrap_or_default();
        let after: Option<Vec<i64>> = after.into_iter().collect();
        let ties = Self {
            parent: call.int8(places.parent),
            after: after.ok_or_else(|| null_element("after"))?,
            any_end: required(call.boolean(places.any_end), "after_any_end")?,
            holds: required(call.boolean(places.holds), "after_hold")?,
        };
        ties.check_flags(!ties.after.is_empty())?;
        Ok(ties)
    }

    /// What is said of the jobs that come first needs some.
    pub fn check_flags(&self, comes_after: bool) -> Result<()> {
        let given = [("after_any_end", self.any_end), ("after_hold", self.holds)];
        match given
            .into_iter()
            .find(|(_, is_given)| *is_given && !comes_after)
        {
            Some((argument, _)) => Err(bad_value(format!("{argument} needs after"))
                .detail("The job comes after no other.")
                .hint("Name the jobs that must end first, or leave it out.")),
            None => Ok(()),
        }
    }

    /// The parent, which cannot end before this transaction has.
    pub fn lock_parent(&self, spi: &Spi) -> Result<Option<Rc<Parent>>> {
        let Some(id) = self.parent else {
            return Ok(None);
        };
        permission::job(spi, Verb::Enqueue, id)?;
        parents::lock(spi, catalog::job_table()?, id).map(Some)
    }

    /// Refuses predecessors that do not exist, and those that wait for the job's own parent.
    pub fn check_predecessors(&self, spi: &Spi, parent: Option<&Parent>) -> Result<()> {
        if self.after.is_empty() {
            return Ok(());
        }
        for &id in &self.after {
            permission::job(spi, Verb::Enqueue, id)?;
        }
        must_be_known(spi, self.after.clone())?;
        match parent {
            Some(parent) => parents::check_line(spi, &self.after, &parent.line),
            None => Ok(()),
        }
    }
}

/// That a job comes after another.
pub struct Dependency {
    pub job: i64,
    pub predecessor: i64,
    pub any_end: bool,
    pub holds: bool,
    /// The job is not new: others may wait for it.
    pub is_of_replaced: bool,
}

fn must_be_known(spi: &Spi, jobs: Vec<i64>) -> Result<()> {
    match spi.run(&UNKNOWN, &[datum(jobs)])?.value(0, 1) {
        Some(id) => Err(no_such_job(id)),
        None => Ok(()),
    }
}

/// Has jobs come after others; those of one job follow each other. One that was replaced may have followers: it must not come after one of
/// its own, nor after one that is replaced so at the same time.
pub fn tie(spi: &Spi, dependencies: &[Dependency]) -> Result<()> {
    if dependencies.iter().any(|it| it.is_of_replaced) {
        parents::await_moves(catalog::job_table()?);
    }
    add_dependencies(spi, dependencies)?;
    for of_job in dependencies.chunk_by(|it, next| it.job == next.job) {
        if let Some(first) = of_job.first().filter(|it| it.is_of_replaced) {
            let before: Vec<i64> = of_job.iter().map(|it| it.predecessor).collect();
            parents::check_line(spi, &before, &[first.job])?;
        }
    }
    Ok(())
}

fn add_dependencies(spi: &Spi, dependencies: &[Dependency]) -> Result<()> {
    if dependencies.is_empty() {
        return Ok(());
    }
    fn all<T>(of: &[Dependency], read: impl Fn(&Dependency) -> T) -> Vec<T> {
        of.iter().map(read).collect()
    }
    let jobs = all(dependencies, |it| it.job);
    let predecessors = all(dependencies, |it| it.predecessor);
    let arguments = [
        datum(jobs.as_slice()),
        datum(predecessors.as_slice()),
        datum(all(dependencies, |it| it.any_end)),
        datum(all(dependencies, |it| it.holds)),
    ];
    spi.run(&ADD, &arguments)?;
    if !armed(Seeded::MarkLater) {
        spi.run(&MARK, &[datum(jobs)])?;
    }
    // They may have completed meanwhile, and left nothing.
    must_be_known(spi, predecessors)
}

/// A child takes from its parent what it does not name itself; never its session or keys.
pub fn inherit<'a>(named: Named<'a>, parent: Option<&'a Parent>) -> Result<Named<'a>> {
    let named = match parent {
        Some(parent) => with_names_of(named, parent),
        None => named,
    };
    named.check_account()?;
    Ok(named)
}

fn with_names_of<'a>(named: Named<'a>, parent: &'a Parent) -> Named<'a> {
    let is_of_tenant = named.tenant.is_none() || named.tenant == parent.tenant.as_deref();
    Named {
        queue: named.queue.or(Some(&parent.queue)),
        tenant: named.tenant.or(parent.tenant.as_deref()),
        account: named
            .account
            .or(parent.account.as_deref().filter(|_| is_of_tenant)),
        priority: named.priority.or(Some(parent.priority)),
        ..named
    }
}

/// The values of a child with what it has inherited. In a session it does not get in line before its batch is open: it would
/// hold up others, for which the parent may wait.
pub fn with_parent(
    values: JobValues,
    named: &Named,
    parent: Option<i64>,
    known: Option<&Parent>,
) -> JobValues {
    match parent {
        None => values,
        Some(parent) => JobValues {
            is_blocked: values.session.is_some()
                && known.is_some_and(|known| !known.is_open)
                && !armed(Seeded::LineUpEarly),
            tenant: named.tenant.and_then(datum),
            account: named.account.and_then(datum),
            parent: datum(parent),
            ..values
        },
    }
}
