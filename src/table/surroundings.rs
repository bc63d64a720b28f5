//! Whether rows of the jobs can be changed directly, and which of their indexes serve a search. Each answer is kept
//! until the catalog changes.
//!
//! A row is changed directly where the executor would do nothing that is not done here. User triggers, rules,
//! policies and the like prevent that ([`Jobs::obstacle`]), and SQL statements make the changes then. Columns,
//! indexes and CHECK constraints of users do not.

#![allow(unsafe_code, reason = "calls the server's look-ups and reads a hook")]

use super::defaults;
use super::triggers::{turnstile_job_changed, turnstile_place_job};
use crate::job::later::Later;
use crate::job::row::column;
use crate::job::tables;
use crate::pg::call::datum;
use crate::pg::error::Result;
use crate::pg::relation::{Opened, Trigger, is_exclusion};
use crate::pg::seeded::{Seeded, armed};
use crate::pg::tuple::RawRow;
use crate::pg::{catalog, rights};
use pgrx::pg_sys::{self, Oid};
use std::cell::RefCell;
use std::ffi::CStr;
use std::rc::Rc;

/// Whether an index has an entry for a row.
pub type Condition = fn(&RawRow) -> bool;

/// No condition looks at a column after this one, but for those of later releases.
pub const COLUMNS: usize = column::OWNER_PID;

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
    /// Columns with a default that is not NULL, except those that each new job names.
    pub defaults: Vec<usize>,
}

#[derive(Clone, Copy)]
pub struct KnownIndex {
    pub oid: Oid,
    /// None for an index that is not known, which is left to the executor.
    pub condition: Option<Condition>,
}

/// An index of the extension: how its definition goes on after its name, how it ends and what that means. Storage
/// parameters that a user has set come in between.
struct OwnIndex(&'static str, &'static str, Condition);

const BY_ID: usize = 0;
const BY_LANE: usize = 1;
const OWN_INDEXES: [OwnIndex; 7] = [
    OwnIndex("USING btree (id)", "", |_| true),
    OwnIndex(
        "USING btree (lane_group, lane, \"position\")",
        " WHERE (state = 'available'::text)",
        |row| row.is_available(),
    ),
    OwnIndex(
        "USING btree (queue COLLATE \"C\", run_at, \"position\")",
        " WHERE (state = ANY (ARRAY['scheduled'::text, 'retryable'::text]))",
        |row| matches!(row.bytes(column::STATE), Some(b"scheduled" | b"retryable")),
    ),
    OwnIndex(
        "USING btree (queue COLLATE \"C\", lease_expires_at)",
        " WHERE (state = 'running'::text)",
        |row| row.is_running(),
    ),
    OwnIndex(
        "USING btree (owner_pid)",
        " WHERE ((state = 'running'::text) AND (owner_pid IS NOT NULL))",
        |row| row.is_running() && row.raw(column::OWNER_PID).is_some(),
    ),
    OwnIndex(
        "USING btree (parent, priority)",
        " WHERE (parent IS NOT NULL)",
        |row| row.parent().is_some(),
    ),
    OwnIndex(
        "USING btree (parent)",
        " WHERE (state = 'blocked'::text)",
        |row| row.is_blocked(),
    ),
];

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
        // Definitions are read as text, in which names depend on it.
        rights::pin();
        let indexes: Vec<Index> = relation.indexes().into_iter().map(Index::of).collect();
        let serves = |own: usize| {
            let found = indexes
                .iter()
                .find(|index| index.is_valid && index.own == Some(own));
            found.map(|index| index.oid)
        };
        Self {
            table: relation.oid(),
            obstacle: obstacle(relation),
            by_id: serves(BY_ID),
            by_lane: serves(BY_LANE),
            indexes: indexes.iter().map(Index::known).collect(),
            later: Later::of_relation(relation),
            defaults: defaults::columns(relation)
                .filter(|column| !column::OF_NEW_JOBS.contains(column))
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
            Some(times) => *times += 1,
            None if armed(Seeded::PassOverTriggers) => {}
            None => return Some(format!("it has the trigger \"{}\"", trigger.name)),
        }
    }
    let has_own = own.iter().all(|&times| times == 1);
    (!has_own).then(|| "a trigger of the extension is missing or disabled".into())
}

fn own_trigger(trigger: &Trigger) -> Option<usize> {
    let function = trigger.is_usual.then(|| trigger.address()).flatten()?;
    OWN_TRIGGERS
        .iter()
        .position(|&(known, when)| function == known as usize && when == trigger.fires)
}

/// An index of the table, and which of the extension's it is by its definition.
struct Index {
    oid: Oid,
    is_valid: bool,
    own: Option<usize>,
}

impl Index {
    fn of((oid, is_valid): (Oid, bool)) -> Self {
        Self {
            oid,
            is_valid,
            own: own_index(oid).filter(|_| !is_exclusion(oid)),
        }
    }

    fn known(&self) -> KnownIndex {
        let own = self.own.and_then(|number| OWN_INDEXES.get(number));
        KnownIndex {
            oid: self.oid,
            condition: own.map(|OwnIndex(_, _, condition)| *condition),
        }
    }
}

fn own_index(index: Oid) -> Option<usize> {
    // SAFETY: the function takes the OID of an index; the column, 0, stands for all.
    let definition: Option<String> =
        unsafe { pgrx::direct_function_call(pg_sys::pg_get_indexdef, &[datum(index)]) };
    let definition = after_name(&definition?, index)?.to_owned();
    OWN_INDEXES.iter().position(|OwnIndex(start, end, _)| {
        if armed(Seeded::TrustIndexName) {
            return definition.starts_with(start);
        }
        let parameters = definition.strip_prefix(start);
        let parameters = parameters.and_then(|rest| rest.strip_suffix(end));
        parameters.is_some_and(|text| text.is_empty() || are_parameters(text))
    })
}

/// Whether this is one list of storage parameters, and nothing behind it.
fn are_parameters(text: &str) -> bool {
    let list = text
        .strip_prefix(" WITH (")
        .and_then(|rest| rest.strip_suffix(')'));
    list.is_some_and(|list| !list.contains(')'))
}

/// The definition from the method on.
fn after_name(definition: &str, index: Oid) -> Option<&str> {
    // SAFETY: the index exists, as its table is locked; both give C strings.
    let name = unsafe {
        let name = pg_sys::get_rel_name(index);
        if name.is_null() {
            return None;
        }
        CStr::from_ptr(pg_sys::quote_identifier(name))
            .to_str()
            .ok()?
    };
    let rest = definition.strip_prefix("CREATE ")?;
    let rest = rest.strip_prefix("UNIQUE ").unwrap_or(rest);
    let rest = rest
        .strip_prefix("INDEX ")?
        .strip_prefix(name)?
        .strip_prefix(" ON ")?;
    // Where the search path has the schema it is left out.
    rest.strip_prefix("turnstile.")
        .unwrap_or(rest)
        .strip_prefix("job ")
}
