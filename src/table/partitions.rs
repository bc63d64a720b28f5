//! Rows of the history that go to the partition of their day. The server finds it anew for each command, which takes longer
//! than to add the row; so the last one is remembered until something about the history changes.

use super::together::Together;
use super::{Table, node};
use crate::call::datum;
use crate::catalog;
use crate::error::{Result, internal};
use crate::row::column;
use crate::tuple::RawRow;
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{self, Datum, Oid};
use std::cell::Cell;
use std::ptr::null_mut;

// executor/execPartition.h, which the bindings leave out. Called under a guard, as they raise errors.
unsafe extern "C-unwind" {
    fn ExecSetupPartitionTupleRouting(
        state: *mut pg_sys::EState,
        table: pg_sys::Relation,
    ) -> *mut pg_sys::PartitionTupleRouting;
    fn ExecFindPartition(
        modify: *mut pg_sys::ModifyTableState,
        root: *mut pg_sys::ResultRelInfo,
        routing: *mut pg_sys::PartitionTupleRouting,
        slot: *mut pg_sys::TupleTableSlot,
        state: *mut pg_sys::EState,
    ) -> *mut pg_sys::ResultRelInfo;
    fn ExecCleanupTupleRouting(
        modify: *mut pg_sys::ModifyTableState,
        routing: *mut pg_sys::PartitionTupleRouting,
    );
}

/// Lives as long as the connection.
type Compiled = *mut pg_sys::ExprState;

/// The history as the extension made it.
const PARTITIONED_BY: &str = "RANGE (finished_at)";

/// A partition whose columns are where the whole table has them, and the times (from, before) that it holds.
#[derive(Clone, Copy)]
struct Day {
    history: Oid,
    partition: Oid,
    from: i64,
    before: i64,
    /// Of the catalog.
    version: u64,
}

thread_local! {
    static LAST: Cell<Option<Day>> = const { Cell::new(None) };
    static TRUE: Cell<Option<Compiled>> = const { Cell::new(None) };
}

impl Table<'_> {
    /// Says how many rows of the history follow.
    pub fn announce(&mut self, rows: usize) {
        self.command.partitions.borrow_mut().are_many = rows > 1;
    }

    /// As [`Self::add`] for the history; the last rows are written by [`Self::finish_partitions`].
    pub fn add_to_partition(
        &mut self,
        values: impl IntoIterator<Item = (usize, Option<Datum>)>,
    ) -> Result<()> {
        self.write(values);
        // SAFETY: the slot holds the new row.
        unsafe { self.command.partitions.borrow_mut().add(self, self.written) }
    }

    /// Writes the rows that were added.
    pub fn finish_partitions(&mut self) -> Result<()> {
        self.command.partitions.borrow_mut().write()
    }
}

/// What a command has opened of the history.
#[derive(Default)]
pub struct Partitions {
    /// One row alone is not kept back to be written with others.
    are_many: bool,
    open: Option<(Oid, *mut pg_sys::ResultRelInfo)>,
    routing: Option<Routing>,
    /// Rows of the partition that was found last.
    together: Option<Together>,
}

impl Partitions {
    /// Adds the row in a slot of the history where it belongs.
    unsafe fn add(&mut self, history: &Table, row: *mut pg_sys::TupleTableSlot) -> Result<()> {
        // SAFETY: the partition stays open until the command ends; a map says where its columns are others.
        unsafe {
            let state = history.command.state;
            let partition = self.find(history, row)?;
            let map = (*partition).ri_RootToPartitionMap;
            if self.are_many && map.is_null() && is_plain(partition) {
                return self.take(partition, row, state);
            }
            self.write()?;
            trust_routing(partition);
            let row = match map.is_null() {
                true => row,
                false => pg_sys::execute_attr_map_slot(
                    (*map).attrMap,
                    row,
                    pg_sys::table_slot_create(
                        (*partition).ri_RelationDesc,
                        &mut (*state).es_tupleTable,
                    ),
                ),
            };
            pg_sys::ExecSimpleRelationInsert(partition, state, row);
        }
        Ok(())
    }

    unsafe fn find(
        &mut self,
        history: &Table,
        row: *mut pg_sys::TupleTableSlot,
    ) -> Result<*mut pg_sys::ResultRelInfo> {
        // SAFETY: the slot holds a row of the history, which is open.
        unsafe {
            let row_of_history = RawRow::of(row).up_to(column::FINISHED_AT);
            let at = row_of_history.int8(column::FINISHED_AT);
            if let Some(partition) = Day::of(history.table(), at) {
                return Ok(self.open(history, partition));
            }
            let routing = self.routing.get_or_insert_with(|| {
                Routing::of(history.command.state, history.info, history.relation)
            });
            let partition = routing.find(history.info, row)?;
            if (*partition).ri_RootToPartitionMap.is_null() {
                let found = (*(*partition).ri_RelationDesc).rd_id;
                LAST.set(Day::learn(history.relation, found));
            }
            Ok(partition)
        }
    }

    unsafe fn take(
        &mut self,
        partition: *mut pg_sys::ResultRelInfo,
        row: *mut pg_sys::TupleTableSlot,
        state: *mut pg_sys::EState,
    ) -> Result<()> {
        let together = self.together.as_ref();
        if !together.is_some_and(|rows| rows.is_of(partition)) {
            self.write()?;
            // SAFETY: the partition stays open until the command ends, and is plain.
            self.together = Some(unsafe { Together::of(partition, state) });
        }
        let is_full = match &mut self.together {
            Some(together) => together.take(row)?,
            None => false,
        };
        match is_full {
            true => self.write(),
            false => Ok(()),
        }
    }

    fn write(&mut self) -> Result<()> {
        match &mut self.together {
            Some(together) => together.write(|_| {}),
            None => Ok(()),
        }
    }

    fn open(&mut self, history: &Table, partition: Oid) -> *mut pg_sys::ResultRelInfo {
        if let Some((_, info)) = self.open.filter(|&(open, _)| open == partition) {
            return info;
        }
        let info = history.command.open_partition(partition);
        self.open = Some((partition, info));
        info
    }

    pub fn end(self) {
        if let Some(routing) = self.routing {
            routing.end();
        }
    }
}

impl Day {
    /// The partition of that time, if it is known. The history must be locked: that keeps its partitions as they are.
    fn of(history: Oid, at: Option<i64>) -> Option<Oid> {
        let day = LAST.get()?;
        let is_known = day.history == history && day.version == catalog::version();
        let holds = at.is_some_and(|at| (day.from..day.before).contains(&at));
        (is_known && holds).then_some(day.partition)
    }

    unsafe fn learn(history: pg_sys::Relation, partition: Oid) -> Option<Self> {
        // SAFETY: the history is open; a range has as many bounds as it says, and an index for each, which is that of the
        // partition below the bound.
        unsafe {
            let table = (*history).rd_id;
            // Whatever changes from here on is heard of.
            catalog::relation(c"job_history")
                .ok()
                .filter(|&known| known == table)?;
            let version = catalog::version();
            let key: Option<String> =
                pgrx::direct_function_call(pg_sys::pg_get_partkeydef, &[datum(table)]);
            key.filter(|key| key == PARTITIONED_BY)?;
            let all = &*pg_sys::RelationGetPartitionDesc(history, true);
            let count = usize::try_from(all.nparts).ok()?;
            let number = std::slice::from_raw_parts(all.oids, count)
                .iter()
                .position(|&each| each == partition)?;
            let bounds = &*all.boundinfo;
            let count = usize::try_from(bounds.ndatums).ok()?;
            let upper = (1..count).find(|&at| {
                usize::try_from(*bounds.indexes.add(at)).is_ok_and(|found| found == number)
            })?;
            let bound = |at: usize| {
                let is_value = **bounds.kind.add(at)
                    == pg_sys::PartitionRangeDatumKind::PARTITION_RANGE_DATUM_VALUE;
                is_value.then(|| (**bounds.datums.add(at)).value() as i64)
            };
            Some(Self {
                history: table,
                partition,
                from: bound(upper - 1)?,
                before: bound(upper)?,
                version,
            })
        }
    }
}

/// How the rows of one command find their partitions.
struct Routing {
    state: *mut pg_sys::EState,
    modify: *mut pg_sys::ModifyTableState,
    partitions: *mut pg_sys::PartitionTupleRouting,
}

impl Routing {
    /// All are those of one command, which ends the routing before it ends itself.
    unsafe fn of(
        state: *mut pg_sys::EState,
        info: *mut pg_sys::ResultRelInfo,
        table: pg_sys::Relation,
    ) -> Self {
        // SAFETY: the state of a plan node without a plan is what the server's own callers pass.
        unsafe {
            let modify: *mut pg_sys::ModifyTableState = node(pg_sys::NodeTag::T_ModifyTableState);
            (*modify).ps.state = state;
            (*modify).operation = pg_sys::CmdType::CMD_INSERT;
            (*modify).mt_nrels = 1;
            (*modify).resultRelInfo = info;
            (*modify).rootResultRelInfo = info;
            Self {
                state,
                modify,
                partitions: pg_guard_ffi_boundary(|| ExecSetupPartitionTupleRouting(state, table)),
            }
        }
    }

    /// Finds where the row in a slot of the partitioned table belongs.
    unsafe fn find(
        &self,
        info: *mut pg_sys::ResultRelInfo,
        row: *mut pg_sys::TupleTableSlot,
    ) -> Result<*mut pg_sys::ResultRelInfo> {
        // SAFETY: the partition stays open until the command ends.
        unsafe {
            let partition = pg_guard_ffi_boundary(|| {
                ExecFindPartition(self.modify, info, self.partitions, row, self.state)
            });
            if (*(*partition).ri_RelationDesc).rd_tableam.is_null() {
                return Err(internal("a partition of the history is not a table"));
            }
            Ok(partition)
        }
    }

    /// Closes the partitions.
    fn end(self) {
        // SAFETY: called once, by the command, when nobody uses them any more.
        unsafe { pg_guard_ffi_boundary(|| ExecCleanupTupleRouting(self.modify, self.partitions)) };
    }
}

/// Whether nothing happens to the rows of a partition but that they are stored.
unsafe fn is_plain(partition: *mut pg_sys::ResultRelInfo) -> bool {
    // SAFETY: the partition is open.
    unsafe {
        let constraints = (*(*(*partition).ri_RelationDesc).rd_att).constr;
        (*partition).ri_TrigDesc.is_null()
            && (constraints.is_null() || !(*constraints).has_generated_stored)
    }
}

/// Spares a partition the check of rows that were routed to it: the executor does not check them either, unless a
/// trigger may have changed them meanwhile.
unsafe fn trust_routing(partition: *mut pg_sys::ResultRelInfo) {
    // SAFETY: the triggers are those of the open partition.
    unsafe {
        let triggers = (*partition).ri_TrigDesc;
        if triggers.is_null() || !(*triggers).trig_insert_before_row {
            (*partition).ri_PartitionCheckExpr = always();
        }
    }
}

/// A condition that holds, compiled once a connection.
fn always() -> Compiled {
    // SAFETY: a constant needs nothing that could go away; its memory is handed to the connection once all is in it.
    let always = TRUE.get().unwrap_or_else(|| unsafe {
        let memory = pg_sys::AllocSetContextCreateExtended(
            pg_sys::CurrentMemoryContext,
            c"turnstile condition".as_ptr(),
            0,
            1024,
            8192,
        );
        let before = pg_sys::MemoryContextSwitchTo(memory);
        let always = pg_sys::ExecInitExpr(pg_sys::makeBoolConst(true, false).cast(), null_mut());
        pg_sys::MemoryContextSwitchTo(before);
        pg_sys::MemoryContextSetParent(memory, pg_sys::TopMemoryContext);
        always
    });
    TRUE.set(Some(always));
    always
}
