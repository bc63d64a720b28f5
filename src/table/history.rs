//! Where finished jobs go: the partition of the day. The server would look it up for each command, which takes longer
//! than to add the row. So the last one is kept until something about it, the history or the jobs changes.

#![allow(unsafe_code, reason = "reads how a table is partitioned")]

use super::command::Command;
use super::constraints::Constraints;
use super::defaults::{self, Defaults};
use super::indexes::{self, LazyIndex, enter};
use super::multi_insert::MultiInsert;
use super::own_indexes;
use super::slot::{Slot, write};
use super::surroundings::Jobs;
use crate::job::state::End;
use crate::pg::call::datum;
use crate::pg::catalog_row::Row;
use crate::pg::error::Result;
use crate::pg::relation::Opened;
use crate::pg::tuple::RawRow;
use crate::pg::{catalog, foreign_code, rights};
use pgrx::FromDatum;
use pgrx::pg_sys::{self, AttrNumber, Datum, Oid, SysCacheIdentifier};
use std::cell::RefCell;
use std::rc::Rc;

/// The history is partitioned by ranges of this time.
const PARTITIONED_BY: &str = "finished_at";
/// Columns of the server's catalog pg_partitioned_table.
const STRATEGY: AttrNumber = 2;
const COLUMNS: AttrNumber = 5;
const OPERATORS: AttrNumber = 6;
const BY_RANGE: u8 = b'r';

/// What the history records of a job when it ends.
pub struct Ended<'a> {
    pub end: End,
    pub finished_at: i64,
    pub result: Option<Datum>,
    /// As text; none keeps those of the job.
    pub errors: Option<&'a str>,
    /// Whether its cancellation is requested just now.
    pub is_cancelled_now: bool,
}

/// Where a column of the history gets its value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// The column of the job with the same name and type (from 1).
    Job(usize),
    State,
    FinishedAt,
    Result,
    /// The job's, unless the ending gives a value.
    Errors(usize),
    CancelRequestedAt(usize),
    /// Its own default, which may be NULL.
    Default,
}

/// The partition of a day, as of a version of the catalog.
pub struct Partition {
    history: Oid,
    partition: Oid,
    version: u64,
    /// The times that it holds.
    from: i64,
    before: i64,
    columns: Vec<Source>,
    constraints: Constraints,
    /// All but that on the parent, in which few jobs have an entry.
    indexes: Vec<Oid>,
    by_parent: Option<Oid>,
    /// Columns of the history with a default that no job gives a value for, and where they are in the partition.
    defaults: Vec<(usize, usize)>,
}

thread_local! {
    static LAST: RefCell<Option<Rc<Partition>>> = const { RefCell::new(None) };
}

/// Locks the history until the transaction ends.
pub fn lock_history() -> Result<Oid> {
    catalog::lock(c"job_history", pg_sys::RowExclusiveLock)
}

/// Where jobs that finish at this time go; nothing if rows cannot be added there directly. The history is locked.
pub fn partition(jobs: &Jobs, history: Oid, at: i64) -> Option<Rc<Partition>> {
    if !jobs.is_direct() {
        return None;
    }
    let version = catalog::version();
    let last = LAST.with_borrow(|last| last.clone());
    let is_known =
        |last: &Rc<Partition>| last.history == history && last.version == version && last.holds(at);
    if let Some(last) = last.filter(is_known) {
        return Some(last);
    }
    let found = Partition::find(jobs, history, at).ok().map(Rc::new);
    LAST.set(found.clone());
    found
}

/// Why jobs that finish at this time cannot be moved directly.
pub fn why_not_direct(jobs: &Jobs, at: i64) -> Result<Option<String>> {
    if let Some(obstacle) = jobs.obstacle() {
        return Ok(Some(format!("turnstile.job: {obstacle}")));
    }
    let history = catalog::lock(c"job_history", pg_sys::RowExclusiveLock)?;
    let obstacle = Partition::find(jobs, history, at).err();
    Ok(obstacle.map(|obstacle| format!("turnstile.job_history: {obstacle}")))
}

impl Partition {
    /// Whether jobs that finish at this time can be added.
    pub fn holds(&self, at: i64) -> bool {
        (self.from..self.before).contains(&at)
    }

    /// The history is locked: that keeps its partitions as they are.
    fn find(jobs: &Jobs, history: Oid, at: i64) -> std::result::Result<Self, String> {
        // Changes from here on invalidate what is found.
        let version = catalog::version();
        catalog::watch(jobs.table);
        catalog::watch(history);
        let whole = Opened::of(history);
        if !whole.is_partitioned() || !is_partitioned_by_time(&whole) {
            return Err("the history is not partitioned by day".into());
        }
        if whole.is_partition() {
            return Err("the history is a partition of another table".into());
        }
        if whole.has_policies() {
            return Err("the history has row level security".into());
        }
        if whole.has_rules() {
            return Err("the history has a rule".into());
        }
        if let Some(trigger) = whole.triggers().first() {
            return Err(format!("the history has the trigger \"{}\"", trigger.name));
        }
        let (oid, from, before) =
            partition_of(&whole, at).ok_or("the history has no partition of this day")?;
        catalog::watch(oid);
        // SAFETY: locked until the transaction ends, as if rows were added.
        unsafe { pg_sys::LockRelationOid(oid, pg_sys::RowExclusiveLock.cast_signed()) };
        let partition = Opened::of(oid);
        if let Some(obstacle) = partition.obstacle() {
            return Err(format!("the partition of this day: {obstacle}"));
        }
        if let Some(trigger) = partition.triggers().first() {
            let name = &trigger.name;
            return Err(format!(
                "the partition of this day has the trigger \"{name}\""
            ));
        }
        let (by_parent, indexes) = indexes_of(jobs.table, &partition);
        let columns = columns(&Opened::of(jobs.table), &partition);
        let is_free = |number: &usize| columns.get(number - 1) == Some(&Source::Default);
        let defaults = (1..=partition.width())
            .filter(is_free)
            .filter_map(|of_partition| {
                let column = partition.column(of_partition)?;
                let same = |&number: &usize| whole.column(number).as_ref() == Some(&column);
                let of_whole = (1..=whole.width()).find(same)?;
                defaults::has(&whole, of_whole).then_some((of_whole, of_partition))
            })
            .collect();
        Ok(Self {
            history,
            partition: oid,
            version,
            from,
            before,
            columns,
            constraints: Constraints::of(&partition),
            indexes,
            by_parent,
            defaults,
        })
    }
}

fn is_partitioned_by_time(table: &Opened) -> bool {
    let is_by_time = || {
        let row = Row::of(SysCacheIdentifier::PARTRELID, table.oid())?;
        // SAFETY: this column is one character.
        let strategy = unsafe { i8::from_datum(row.column(STRATEGY)?, false) }?;
        let [column] = row.numbers::<i16>(COLUMNS)?.try_into().ok()?;
        let [operators] = row.numbers::<Oid>(OPERATORS)?.try_into().ok()?;
        let column = table.column(usize::try_from(column).ok()?)?;
        let is_range = strategy.cast_unsigned() == BY_RANGE;
        let is_time = operators == pg_sys::TIMESTAMPTZ_BTREE_OPS_OID;
        Some(is_range && is_time && column.name == PARTITIONED_BY)
    };
    is_by_time().unwrap_or(false)
}

/// The partition of that time with the times (from, before) that it holds.
fn partition_of(history: &Opened, at: i64) -> Option<(Oid, i64, i64)> {
    // SAFETY: the history is open and partitioned by a range of times; a range has as many bounds as it says, and an index
    // for each, which is that of the partition below the bound.
    unsafe {
        let all = &*pg_sys::RelationGetPartitionDesc(history.raw(), true);
        if all.boundinfo.is_null() {
            return None;
        }
        let bounds = &*all.boundinfo;
        let count = usize::try_from(bounds.ndatums).ok()?;
        let bound = |at: usize| {
            let is_value = **bounds.kind.add(at)
                == pg_sys::PartitionRangeDatumKind::PARTITION_RANGE_DATUM_VALUE;
            is_value.then(|| (**bounds.datums.add(at)).value() as i64)
        };
        let upper = (1..count).find(|&each| bound(each).is_some_and(|bound| at < bound))?;
        let number = usize::try_from(*bounds.indexes.add(upper)).ok()?;
        let from = bound(upper - 1).filter(|&from| from <= at)?;
        let partitions = std::slice::from_raw_parts(all.oids, usize::try_from(all.nparts).ok()?);
        Some((*partitions.get(number)?, from, bound(upper)?))
    }
}

fn columns(jobs: &Opened, partition: &Opened) -> Vec<Source> {
    let of_jobs: Vec<_> = (1..=jobs.width())
        .map(|number| jobs.column(number))
        .collect();
    let of_job = |wanted: &_| {
        let found = of_jobs
            .iter()
            .position(|column| column.as_ref() == Some(wanted));
        found.map(|place| place + 1)
    };
    let source = |number| {
        let Some(column) = partition.column(number) else {
            return Source::Default;
        };
        match (column.name.as_str(), of_job(&column)) {
            ("state", _) => Source::State,
            ("finished_at", _) => Source::FinishedAt,
            ("result", _) => Source::Result,
            ("errors", Some(number)) => Source::Errors(number),
            ("cancel_requested_at", Some(number)) => Source::CancelRequestedAt(number),
            (_, Some(number)) => Source::Job(number),
            (_, None) => Source::Default,
        }
    };
    (1..=partition.width()).map(source).collect()
}

/// The index on the parent, and all others.
fn indexes_of(job_table: Oid, partition: &Opened) -> (Option<Oid>, Vec<Oid>) {
    // Conditions are read as text, in which names depend on it.
    rights::pin();
    let all = partition.indexes().into_iter().map(|(index, _)| index);
    let (by_parent, mut others): (Vec<Oid>, Vec<Oid>) =
        all.partition(|&index| own_indexes::is_by_parent(job_table, partition, index));
    let mut by_parent = by_parent.into_iter();
    let first = by_parent.next();
    others.extend(by_parent);
    (first, others)
}

/// The partition, as a command adds jobs to it.
pub struct History<'c> {
    command: &'c Command,
    partition: Rc<Partition>,
    relation: pg_sys::Relation,
    info: *mut pg_sys::ResultRelInfo,
    /// Of the next row.
    slot: Slot,
    by_parent: LazyIndex,
    defaults: Option<Defaults>,
    /// None if there is only one row, which is not kept back to be written with others. Of each, whether it has a parent.
    added: Option<MultiInsert<bool>>,
}

impl Command {
    /// Opens the partition for this many jobs.
    pub fn open_history(&self, partition: Rc<Partition>, jobs: usize) -> History<'_> {
        let (relation, info) = self.open_relation(partition.partition, pg_sys::RowExclusiveLock);
        // SAFETY: the partition is open until the command ends.
        let (slot, added) = unsafe {
            indexes::open(info, &partition.indexes);
            foreign_code::pin_for_indexes(info);
            let added = (jobs > 1).then(|| MultiInsert::of(info, self.state));
            (self.slot_of(relation), added)
        };
        let columns = partition.defaults.iter().copied();
        let defaults = (!partition.defaults.is_empty()).then(|| {
            // SAFETY: the command's memory is the current one.
            unsafe { Defaults::of(&Opened::of(partition.history), columns, self.state) }
        });
        History {
            command: self,
            by_parent: LazyIndex::of(partition.by_parent, info),
            slot,
            partition,
            relation,
            info,
            defaults,
            added,
        }
    }
}

impl History<'_> {
    /// Adds a job, all of whose columns can be read; the last ones are written by [`Self::finish`].
    pub fn add(&mut self, job: &RawRow, ended: &Ended) -> Result<()> {
        let errors = ended.errors.and_then(jsonb);
        let value = |source: Source| match source {
            Source::Job(number) => job.raw(number),
            Source::State => datum(ended.end.name()),
            Source::FinishedAt => datum(ended.finished_at),
            Source::Result => ended.result,
            Source::Errors(number) => errors.or_else(|| job.raw(number)),
            Source::CancelRequestedAt(_) if ended.is_cancelled_now => datum(ended.finished_at),
            Source::CancelRequestedAt(number) => job.raw(number),
            Source::Default => None,
        };
        let columns = self.partition.columns.iter();
        let values = (1..).zip(columns.map(|&source| value(source)));
        let defaults = self.defaults.iter().flat_map(Defaults::values);
        // SAFETY: the slot is one of the partition, which is open.
        unsafe {
            if let Some(added) = &mut self.added {
                self.slot = added.free_slot();
            }
            write(self.slot, values.chain(defaults));
            let state = self.command.state;
            self.partition
                .constraints
                .check(self.info, self.slot, state);
            let has_parent = RawRow::unread(self.slot).parent().is_some();
            if let Some(added) = &mut self.added {
                return match added.take(has_parent) {
                    true => self.finish(),
                    false => Ok(()),
                };
            }
            pg_sys::simple_table_tuple_insert(self.relation, self.slot);
            self.by_parent.open_for(has_parent);
            enter(self.info, self.slot, state, None);
        }
        Ok(())
    }

    /// Writes the rows that were added.
    pub fn finish(&mut self) -> Result<()> {
        match &mut self.added {
            Some(added) => {
                let by_parent = &mut self.by_parent;
                added.write(|has_parent| by_parent.open_for(has_parent))
            }
            None => Ok(()),
        }
    }
}

/// A jsonb of its text.
fn jsonb(text: &str) -> Option<Datum> {
    let text = std::ffi::CString::new(text).ok()?;
    // SAFETY: the function takes a C string.
    unsafe {
        pgrx::direct_function_call_as_datum(pg_sys::jsonb_in, &[Some(Datum::from(text.as_ptr()))])
    }
}
