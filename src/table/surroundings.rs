//! Whether rows of the jobs can be changed directly, and which of their indexes serve a search. Each answer is kept
//! until the catalog changes.
//!
//! A row is changed directly where the executor would do nothing that is not done here. User triggers, rules,
//! policies and the like prevent that ([`Jobs::obstacle`]), and SQL statements make the changes then. Columns,
//! indexes and CHECK constraints of users do not.

#![allow(unsafe_code, reason = "calls the server's look-ups and reads a hook")]

use super::constraints::Constraints;
use super::defaults;
use super::own_indexes;
use super::triggers::{turnstile_job_changed, turnstile_place_job};
use crate::job::column;
use crate::job::later::Later;
use crate::job::tables;
use crate::pg::error::Result;
use crate::pg::relation::{Opened, Trigger};
use crate::pg::seeded::{Seeded, armed};
use crate::pg::{catalog, rights};
use pgrx::pg_sys::{self, Oid};
use std::cell::RefCell;
use std::rc::Rc;

/// `turnstile.job` as of a version of the catalog.
pub struct Jobs {
    pub table: Oid,
    /// Why rows cannot be changed directly.
    obstacle: Option<String>,
    /// The index on the id.
    pub by_id: Option<Oid>,
    /// The index on (lane_group, lane, position) of what is available.
    pub by_lane: Option<Oid>,
    pub indexes: Vec<KnownIndex>,
    pub later: Later,
    pub constraints: Constraints,
    /// Columns with a default that is not NULL, except those that each new job names.
    pub defaults: Vec<usize>,
}

#[derive(Clone, Copy)]
pub struct KnownIndex {
    pub oid: Oid,
    /// Which of the extension's it is; any other is left to the executor.
    pub own: Option<usize>,
}

type Function = unsafe extern "C-unwind" fn(pg_sys::FunctionCallInfo) -> pg_sys::Datum;

/// The triggers of the extension that fire for rows: their function and when they fire.
const OWN_TRIGGERS: [(Function, u32); 2] = [
    (
        turnstile_place_job,
        pg_sys::TRIGGER_TYPE_ROW
            | pg_sys::TRIGGER_TYPE_BEFORE
            | pg_sys::TRIGGER_TYPE_INSERT
            | pg_sys::TRIGGER_TYPE_UPDATE,
    ),
    (
        turnstile_job_changed,
        pg_sys::TRIGGER_TYPE_ROW
            | pg_sys::TRIGGER_TYPE_INSERT
            | pg_sys::TRIGGER_TYPE_UPDATE
            | pg_sys::TRIGGER_TYPE_DELETE,
    ),
];

thread_local! {
    static KEPT: RefCell<(u64, Option<Rc<Jobs>>)> = const { RefCell::new((0, None)) };
}

/// Locks `turnstile.job` until the transaction ends, and returns what surrounds it. A caller that looks at rows takes
/// its snapshot after this, to see what was committed while the lock was waited for.
pub fn lock_jobs(mode: u32) -> Result<Rc<Jobs>> {
    let table = catalog::lock(c"job", mode)?;
    let version = catalog::version();
    catalog::watch(table);
    let kept = KEPT.with_borrow(|(at, jobs)| jobs.clone().filter(|_| *at == version));
    let jobs = kept.filter(|jobs| jobs.table == table).unwrap_or_else(|| {
        let jobs = Rc::new(Jobs::read(&Opened::of(table)));
        KEPT.with_borrow_mut(|kept| *kept = (version, Some(jobs.clone())));
        jobs
    });
    if !jobs.is_direct() {
        tables::distrust_own_jobs(table);
    }
    Ok(jobs)
}

impl Jobs {
    fn read(relation: &Opened) -> Self {
        // Conditions are read as text, in which names depend on it.
        rights::pin();
        let all = relation.indexes().into_iter();
        let indexes: Vec<Index> = all
            .map(|(oid, is_valid)| Index {
                oid,
                is_valid,
                own: own_indexes::of_jobs(relation, oid),
            })
            .collect();
        let serves = |wanted: usize| {
            let is_it = |index: &&Index| index.own == Some(wanted);
            let found = indexes.iter().filter(is_it).find(|index| index.is_valid);
            found.map(|index| index.oid)
        };
        Self {
            table: relation.oid(),
            obstacle: obstacle(relation),
            by_id: serves(own_indexes::BY_ID),
            by_lane: serves(own_indexes::BY_LANE),
            indexes: indexes.iter().map(Index::known).collect(),
            later: Later::of_relation(relation),
            constraints: Constraints::of(relation),
            defaults: (1..=relation.width())
                .filter(|column| !column::OF_NEW_JOBS.contains(column))
                .filter(|&column| defaults::has(relation, column))
                .collect(),
        }
    }

    /// Why rows have to be changed by SQL statements.
    pub fn obstacle(&self) -> Option<&str> {
        match is_audited() {
            true => Some("a hook checks the permissions of each statement"),
            false => self.obstacle.as_deref(),
        }
    }

    pub fn is_direct(&self) -> bool {
        self.obstacle().is_none()
    }
}

/// Whether an auditor must see each statement.
fn is_audited() -> bool {
    // SAFETY: libraries set it while they are loaded.
    let hook = unsafe { pg_sys::ExecutorCheckPerms_hook };
    hook.is_some()
}

fn obstacle(relation: &Opened) -> Option<String> {
    if let Some(obstacle) = relation.obstacle() {
        return Some(obstacle.into());
    }
    if relation.is_partition() {
        return Some("it is a partition of another table".into());
    }
    let mut own = [0; OWN_TRIGGERS.len()];
    for trigger in relation.triggers() {
        match own_trigger(&trigger).and_then(|number| own.get_mut(number)) {
            Some(times) if trigger.is_usual => *times += 1,
            _ if armed(Seeded::PassOverTriggers) => {}
            Some(_) => {
                let name = trigger.name;
                return Some(format!(
                    "the trigger \"{name}\" of the extension does not fire always"
                ));
            }
            None => return Some(format!("it has the trigger \"{}\"", trigger.name)),
        }
    }
    let has_own = own.iter().all(|&times| times == 1);
    (!has_own).then(|| "a trigger of the extension is missing or disabled".into())
}

fn own_trigger(trigger: &Trigger) -> Option<usize> {
    let function = trigger.address()?;
    OWN_TRIGGERS
        .iter()
        .position(|&(known, when)| function == known as usize && when == trigger.fires)
}

/// An index of the table, and which of the extension's it is.
struct Index {
    oid: Oid,
    is_valid: bool,
    own: Option<usize>,
}

impl Index {
    fn known(&self) -> KnownIndex {
        KnownIndex {
            oid: self.oid,
            own: self.own,
        }
    }
}
