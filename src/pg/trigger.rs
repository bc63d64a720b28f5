//! What the server tells a trigger function. The only reader of `TriggerData`.

#![allow(unsafe_code, reason = "reads what the server tells triggers")]

use crate::pg::call::Call;
use crate::pg::catalog;
use crate::pg::error::{Result, foreign_trigger, internal, not_a_trigger};
use crate::pg::tuple::RawRow;
use pgrx::pg_sys::{self, Datum};
use std::ffi::CStr;
use std::marker::PhantomData;

/// What a row of settings says of a rate.
#[derive(Clone, Copy)]
pub struct RowRate {
    pub gate: Option<u64>,
    /// None: it is inherited.
    pub rate: Option<i32>,
    pub since: Option<i64>,
}

impl RowRate {
    /// Whether there is one; -1 is none.
    pub fn is_some(&self) -> bool {
        self.rate.is_some_and(|rate| rate > 0)
    }
}

pub struct Trigger<'call> {
    data: *mut pg_sys::TriggerData,
    call: PhantomData<&'call Call>,
}

/// When a trigger function is called on the extension's own tables. A role that may call a function may also create a
/// trigger with it on a table of its own, at any time: there the function would read what does not exist.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// BEFORE INSERT OR UPDATE, for each row.
    RowBefore,
    /// AFTER INSERT OR UPDATE OR DELETE, for each row.
    RowAfter,
    /// AFTER TRUNCATE.
    Truncated,
    /// AFTER any statement.
    StatementAfter,
}

impl Moment {
    fn is_that_of(self, event: u32) -> bool {
        use pg_sys::{
            TRIGGER_EVENT_AFTER, TRIGGER_EVENT_BEFORE, TRIGGER_EVENT_INSERT, TRIGGER_EVENT_OPMASK,
            TRIGGER_EVENT_ROW, TRIGGER_EVENT_TIMINGMASK, TRIGGER_EVENT_TRUNCATE,
            TRIGGER_EVENT_UPDATE,
        };
        let operation = event & TRIGGER_EVENT_OPMASK;
        let shape = event & (TRIGGER_EVENT_ROW | TRIGGER_EVENT_TIMINGMASK);
        match self {
            Self::RowBefore => {
                shape == TRIGGER_EVENT_ROW | TRIGGER_EVENT_BEFORE
                    && matches!(operation, TRIGGER_EVENT_INSERT | TRIGGER_EVENT_UPDATE)
            }
            Self::RowAfter => shape == TRIGGER_EVENT_ROW | TRIGGER_EVENT_AFTER,
            Self::Truncated => shape == TRIGGER_EVENT_AFTER && operation == TRIGGER_EVENT_TRUNCATE,
            Self::StatementAfter => shape == TRIGGER_EVENT_AFTER,
        }
    }
}

impl<'call> Trigger<'call> {
    /// What an AFTER trigger returns, and a BEFORE trigger whose row is left as it was: a null pointer, which is not NULL.
    pub const NOTHING: Option<Datum> = Some(Datum::null());

    fn any(call: &'call Call) -> Result<Self> {
        // SAFETY: a context that is TriggerData says so in its node tag.
        unsafe {
            let context = (*call.fcinfo()).context;
            if context.is_null() || (*context).type_ != pg_sys::NodeTag::T_TriggerData {
                return Err(not_a_trigger());
            }
            Ok(Self {
                data: context.cast(),
                call: PhantomData,
            })
        }
    }

    /// The call of a trigger on this table of the extension, at this moment.
    pub fn of(call: &'call Call, table: &'static CStr, moment: Moment) -> Result<Self> {
        let trigger = Self::any(call)?;
        trigger.must_be_on(table, moment)?;
        Ok(trigger)
    }

    /// The call of a trigger on the table that its argument stands for, by `named`, and what comes with the table.
    pub fn of_argument<T>(
        call: &'call Call,
        named: impl FnOnce(&str) -> Option<(&'static CStr, T)>,
        moment: Moment,
    ) -> Result<(Self, T)> {
        let trigger = Self::any(call)?;
        let (table, meaning) = trigger
            .argument()
            .and_then(named)
            .ok_or_else(foreign_trigger)?;
        trigger.must_be_on(table, moment)?;
        Ok((trigger, meaning))
    }

    fn must_be_on(&self, table: &'static CStr, moment: Moment) -> Result<()> {
        // SAFETY: the data is valid for the call.
        let event = unsafe { (*self.data).tg_event };
        match self.table() == catalog::relation(table)? && moment.is_that_of(event) {
            true => Ok(()),
            false => Err(foreign_trigger()),
        }
    }

    pub fn table(&self) -> pg_sys::Oid {
        // SAFETY: the data is valid for the call.
        unsafe { (*(*self.data).tg_relation).rd_id }
    }

    fn operation(&self) -> u32 {
        // SAFETY: the data is valid for the call.
        unsafe { (*self.data).tg_event & pg_sys::TRIGGER_EVENT_OPMASK }
    }

    /// The row before an UPDATE or DELETE.
    pub fn old_row(&self) -> Option<RawRow<'call>> {
        // SAFETY: AFTER ROW triggers are given the slots of their rows.
        (self.operation() != pg_sys::TRIGGER_EVENT_INSERT)
            .then(|| unsafe { RawRow::of((*self.data).tg_trigslot) })
    }

    /// The row after an INSERT or UPDATE.
    pub fn new_row(&self) -> Option<RawRow<'call>> {
        // SAFETY: the slots of an AFTER ROW trigger hold its rows, the second one in an UPDATE only.
        unsafe {
            match self.operation() {
                pg_sys::TRIGGER_EVENT_INSERT => Some(RawRow::of((*self.data).tg_trigslot)),
                pg_sys::TRIGGER_EVENT_UPDATE => Some(RawRow::of((*self.data).tg_newslot)),
                _ => None,
            }
        }
    }

    /// The row that a BEFORE ROW trigger of an INSERT or UPDATE returns to keep it as it is.
    pub fn row_unchanged(&self) -> Datum {
        Datum::from(self.new_tuple())
    }

    /// As [`Self::row_unchanged`] with other values in some columns.
    pub fn row_with(&self, columns: &[(usize, Option<Datum>)]) -> Datum {
        let mut numbers: Vec<i32> = columns
            .iter()
            .map(|&(column, _)| i32::try_from(column).unwrap_or(0))
            .collect();
        let (mut values, mut nulls): (Vec<Datum>, Vec<bool>) = columns
            .iter()
            .map(|&(_, value)| (value.unwrap_or_else(Datum::null), value.is_none()))
            .unzip();
        // SAFETY: the columns exist; the tuple is copied into the current memory context.
        let tuple = unsafe {
            pg_sys::heap_modify_tuple_by_cols(
                self.new_tuple(),
                (*(*self.data).tg_relation).rd_att,
                i32::try_from(columns.len()).unwrap_or(0),
                numbers.as_mut_ptr(),
                values.as_mut_ptr(),
                nulls.as_mut_ptr(),
            )
        };
        Datum::from(tuple)
    }

    fn new_tuple(&self) -> pg_sys::HeapTuple {
        // SAFETY: row triggers are given the tuples of their rows.
        unsafe {
            match self.operation() {
                pg_sys::TRIGGER_EVENT_UPDATE => (*self.data).tg_newtuple,
                _ => (*self.data).tg_trigtuple,
            }
        }
    }

    /// The first argument in `CREATE TRIGGER`.
    pub fn argument(&self) -> Option<&str> {
        // SAFETY: tgargs has tgnargs C strings.
        unsafe {
            let trigger = (*self.data).tg_trigger;
            if (*trigger).tgnargs < 1 {
                return None;
            }
            CStr::from_ptr(*(*trigger).tgargs).to_str().ok()
        }
    }

    fn rows(&self) -> impl Iterator<Item = RawRow<'call>> {
        self.old_row().into_iter().chain(self.new_row())
    }

    fn column(&self, name: &CStr) -> Result<usize> {
        self.column_if_any(name)
            .ok_or_else(|| internal("a column is missing from a table of settings"))
    }

    fn column_if_any(&self, name: &CStr) -> Option<usize> {
        // SAFETY: the relation is open for the call.
        let number =
            unsafe { pg_sys::SPI_fnumber((*(*self.data).tg_relation).rd_att, name.as_ptr()) };
        usize::try_from(number).ok().filter(|&number| number > 0)
    }

    /// The row to keep, with other values in these columns.
    pub fn row_with_columns<const N: usize>(
        &self,
        columns: [Option<(&CStr, Option<Datum>)>; N],
    ) -> Result<Datum> {
        let numbered = |(name, value)| Ok((self.column(name)?, value));
        let columns: Result<Vec<_>> = columns.into_iter().flatten().map(numbered).collect();
        Ok(self.row_with(&columns?))
    }

    /// What the rows before and after the change say of a rate; none where the table has none. A catalog of 0.1.0 does not have since
    /// when it is, until it is upgraded.
    pub fn rates(&self) -> Result<Option<(Option<RowRate>, Option<RowRate>)>> {
        let since = self.column_if_any(c"rate_since");
        let (Some(rate), Some(since)) = (self.column_if_any(c"rate"), since) else {
            return Ok(None);
        };
        let gate = self.column(c"gate")?;
        let read = |row: RawRow| {
            let row = row.up_to(rate.max(since).max(gate));
            RowRate {
                gate: row.int8(gate).map(i64::cast_unsigned),
                rate: row.int4(rate),
                since: row.int8(since),
            }
        };
        Ok(Some((self.old_row().map(read), self.new_row().map(read))))
    }

    /// What `make` returns for a text of the new row, unless the text is NULL.
    pub fn with_new_text<R>(&self, name: &CStr, make: impl FnOnce(&str) -> R) -> Result<Option<R>> {
        let column = self.column(name)?;
        let row = self.new_row().map(|row| row.up_to(column));
        Ok(row.and_then(|row| row.text(column).map(make)))
    }

    /// A number of the new row.
    pub fn new_number(&self, name: &CStr) -> Result<Option<i64>> {
        let column = self.column(name)?;
        let row = self.new_row().map(|row| row.up_to(column));
        Ok(row.and_then(|row| row.int8(column)))
    }

    /// The gates of the old and the new row of a table of settings.
    pub fn gate_keys(&self) -> Result<Vec<u64>> {
        let column = self.column(c"gate")?;
        Ok(self
            .rows()
            .filter_map(|row| row.up_to(column).int8(column))
            .map(i64::cast_unsigned)
            .collect())
    }

    /// Whether an integer setting has changed for some name: its row is new or gone, or has another value or name.
    pub fn changes(&self, setting: &CStr) -> Result<bool> {
        let (column, name) = (self.column(setting)?, self.column(c"name")?);
        let read = |row: RawRow| {
            let row = row.up_to(column.max(name));
            (row.int4(column), row.text(name).map(String::from))
        };
        Ok(self.old_row().map(read) != self.new_row().map(read))
    }

    /// A column of the old and the new row of a table of settings.
    pub fn names(&self, column: &CStr) -> Result<Vec<String>> {
        let column = self.column(column)?;
        let rows = self.rows().map(|row| row.up_to(column));
        Ok(rows
            .filter_map(|row| row.text(column).map(String::from))
            .collect())
    }
}
