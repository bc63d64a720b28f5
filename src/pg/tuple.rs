//! A row in a tuple slot, and how its columns are read.

#![allow(unsafe_code, reason = "reads tuple slots")]

use crate::pg::compat;
use crate::pg::jsonb::Json;
use crate::pg::stored::Stored;
use crate::pg::unguarded::{ExecStoreAllNullTuple, slot_getsomeattrs_int};
use pgrx::FromDatum;
use pgrx::datum::Interval;
use pgrx::pg_sys::{self, Datum};
use std::marker::PhantomData;

/// The first columns of a row, as stored.
pub struct RawRow<'slot> {
    slot: *mut pg_sys::TupleTableSlot,
    columns: usize,
    lives: PhantomData<&'slot pg_sys::TupleTableSlot>,
}

impl RawRow<'_> {
    /// # Safety
    /// `slot` must hold a tuple for as long as the row is used.
    pub unsafe fn of(slot: *mut pg_sys::TupleTableSlot) -> Self {
        // SAFETY: as the caller says.
        unsafe { Self::unread(slot) }.up_to(Self::COLUMNS)
    }

    /// None of its columns is made readable.
    ///
    /// # Safety
    /// As above.
    pub unsafe fn unread(slot: *mut pg_sys::TupleTableSlot) -> Self {
        Self {
            slot,
            columns: 0,
            lives: PhantomData,
        }
    }

    /// Where the tuple is stored.
    pub fn place(&self) -> pg_sys::ItemPointerData {
        // SAFETY: the slot holds a stored tuple.
        unsafe { (*self.slot).tts_tid }
    }

    /// Whether the row was neither locked nor changed when it was read; an aborted transaction may count as one that
    /// has it.
    pub fn was_free(&self) -> bool {
        // SAFETY: the header stays in its page; one word of it is read, which another process may write.
        self.header()
            .is_some_and(|(header, _)| unsafe { marks(header) } & pg_sys::HEAP_XMAX_INVALID != 0)
    }

    /// Whether a transaction that has not ended has locked the row, or changed it, so that `FOR NO KEY UPDATE SKIP LOCKED`
    /// passes it over.
    pub fn is_held(&self) -> bool {
        if self.was_free() {
            return false;
        }
        let Some((header, buffer)) = self.header() else {
            return false;
        };
        // SAFETY: while the page is locked, its flags and its transaction id belong together.
        let (marks, holder) = unsafe {
            pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE.cast_signed());
            let read = (marks(header), (*header).t_choice.t_heap.t_xmax);
            pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_UNLOCK.cast_signed());
            read
        };
        let has = |mark: u32| marks & mark != 0;
        if has(pg_sys::HEAP_XMAX_INVALID | pg_sys::HEAP_XMAX_COMMITTED) {
            return false;
        }
        let is_only_lock = has(pg_sys::HEAP_XMAX_LOCK_ONLY);
        if has(pg_sys::HEAP_XMAX_IS_MULTI) {
            return any_holds(holder, is_only_lock);
        }
        // SAFETY: a look-up in the list of transactions.
        !is_weak(marks) && unsafe { pg_sys::TransactionIdIsInProgress(holder) }
    }

    /// Whether this transaction has written this version of the row.
    pub fn is_own(&self) -> bool {
        let Some((header, _)) = self.header() else {
            return false;
        };
        // SAFETY: the page is held in memory; who wrote a row does not change.
        unsafe { pg_sys::TransactionIdIsCurrentTransactionId((*header).t_choice.t_heap.t_xmin) }
    }

    /// The only transaction that has changed or deleted the row, or locked it for that or FOR SHARE, unless it is known to have
    /// ended: a hint. Others may be writing what is read here, in two words.
    pub fn holder(&self) -> Option<pg_sys::TransactionId> {
        const OTHERWISE: u32 =
            pg_sys::HEAP_XMAX_INVALID | pg_sys::HEAP_XMAX_COMMITTED | pg_sys::HEAP_XMAX_IS_MULTI;
        let (header, _) = self.header()?;
        // SAFETY: the header stays in its page.
        let (holder, marks) = unsafe {
            let holder = (&raw const (*header).t_choice.t_heap.t_xmax).read_volatile();
            (holder, marks(header))
        };
        (marks & OTHERWISE == 0 && !is_weak(marks)).then_some(holder)
    }

    /// Where the row's header is, if the row is on a page.
    fn header(&self) -> Option<(pg_sys::HeapTupleHeader, pg_sys::Buffer)> {
        // SAFETY: a slot of this kind begins with that of a tuple; it holds the page in memory.
        unsafe {
            if !std::ptr::eq(
                (*self.slot).tts_ops,
                &raw const pg_sys::TTSOpsBufferHeapTuple,
            ) {
                return None;
            }
            let slot = self.slot.cast::<pg_sys::BufferHeapTupleTableSlot>();
            let (tuple, buffer) = ((*slot).base.tuple, (*slot).buffer);
            let is_in_page = !tuple.is_null() && buffer != 0;
            is_in_page.then(|| ((*tuple).t_data, buffer))
        }
    }

    /// Makes the columns up to this one readable.
    pub fn up_to(mut self, column: usize) -> Self {
        // SAFETY: the slot holds a tuple; columns beyond its descriptor are not asked for.
        unsafe {
            let natts = (*(*self.slot).tts_tupleDescriptor).natts;
            self.columns = column.min(usize::try_from(natts).unwrap_or(0));
            let columns = i32::try_from(self.columns).unwrap_or(0);
            if i32::from((*self.slot).tts_nvalid) < columns {
                slot_getsomeattrs_int(self.slot, columns);
            }
        }
        self
    }

    /// The same row with the columns up to this one.
    pub fn again(&self, column: usize) -> Self {
        // SAFETY: the slot holds the row for as long as this one is used.
        unsafe { Self::unread(self.slot) }.up_to(column)
    }

    /// Makes the row in another slot a copy of this one, as values.
    ///
    /// # Safety
    /// The slot must be of the same columns, all of which can be read.
    pub unsafe fn copy_to(&self, slot: *mut pg_sys::TupleTableSlot) {
        // SAFETY: as the caller says; both slots have room for all columns.
        unsafe {
            ExecStoreAllNullTuple(slot);
            std::ptr::copy_nonoverlapping(
                (*self.slot).tts_values,
                (*slot).tts_values,
                self.columns,
            );
            std::ptr::copy_nonoverlapping(
                (*self.slot).tts_isnull,
                (*slot).tts_isnull,
                self.columns,
            );
        }
    }

    /// A column (from 1); a datum passed by reference lives as long as the tuple in the slot.
    pub fn raw(&self, column: usize) -> Option<Datum> {
        if column == 0 || column > self.columns {
            return None;
        }
        // SAFETY: `up_to` has filled in this many values.
        unsafe {
            let is_null = *(*self.slot).tts_isnull.add(column - 1);
            (!is_null).then(|| *(*self.slot).tts_values.add(column - 1))
        }
    }

    /// A column behind those that were made readable; where it is NULL, they are not read for it.
    pub fn far(&self, column: usize) -> Option<Datum> {
        if column == 0 || self.is_known_null(column) {
            return None;
        }
        self.again(column).raw(column)
    }

    pub fn far_number(&self, column: usize) -> Option<i64> {
        // SAFETY: numbers point to nothing, whatever they were made of.
        self.far(column)
            .and_then(|datum| unsafe { i64::from_datum(datum, false) })
    }

    pub fn far_int4(&self, column: usize) -> Option<i32> {
        // SAFETY: as for `far_number`.
        self.far(column)
            .and_then(|datum| unsafe { i32::from_datum(datum, false) })
    }

    pub fn far_flag(&self, column: usize) -> bool {
        // SAFETY: a boolean points to nothing, either.
        let flag = self
            .far(column)
            .and_then(|datum| unsafe { bool::from_datum(datum, false) });
        flag == Some(true)
    }

    /// Of a column whose type was looked at when it was looked up, here and below: see [`Stored`].
    pub fn far_interval(&self, column: usize) -> Option<Interval> {
        // SAFETY: the column is one of intervals, as was found then.
        self.far(column)
            .and_then(|datum| unsafe { Interval::from_datum(datum, false) })
    }

    pub fn far_json(&self, column: usize) -> Option<Json<'_>> {
        // SAFETY: the column is one of jsonb, as was found when it was looked up.
        self.far(column).map(|datum| unsafe { Json::of(datum) })
    }

    pub fn far_text(&self, column: usize) -> Option<String> {
        // SAFETY: the column is one of texts, as was found when it was looked up.
        self.far(column)
            .and_then(|datum| unsafe { String::from_datum(datum, false) })
    }

    pub fn far_texts(&self, column: usize) -> impl Iterator<Item = String> {
        // SAFETY: the column is one of arrays of texts, as was found when it was looked up.
        let texts = self
            .far(column)
            .and_then(|datum| unsafe { Vec::<Option<String>>::from_datum(datum, false) });
        texts.into_iter().flatten().flatten()
    }

    /// Whether the header of the stored tuple says that a column is NULL.
    #[inline(always)]
    fn is_known_null(&self, column: usize) -> bool {
        // SAFETY: the slot holds a row; one that is stored begins with the slot of a tuple, whose bitmap has a bit for each of
        // its columns where it has any NULL.
        unsafe {
            let slot = &*self.slot;
            if usize::try_from(slot.tts_nvalid).is_ok_and(|known| known >= column) {
                return *slot.tts_isnull.add(column - 1);
            }
            let is_stored = std::ptr::eq(slot.tts_ops, &raw const pg_sys::TTSOpsBufferHeapTuple)
                || std::ptr::eq(slot.tts_ops, &raw const pg_sys::TTSOpsHeapTuple);
            let tuple = (*self.slot.cast::<pg_sys::HeapTupleTableSlot>()).tuple;
            if !is_stored || tuple.is_null() {
                return false;
            }
            let header = (*tuple).t_data;
            let stored = u32::from((*header).t_infomask2) & pg_sys::HEAP_NATTS_MASK;
            if column > stored as usize {
                return true;
            }
            let has_nulls = u32::from((*header).t_infomask) & pg_sys::HEAP_HASNULL != 0;
            let bits = (&raw const (*header).t_bits).cast::<u8>();
            has_nulls && *bits.add((column - 1) / 8) & (1 << ((column - 1) % 8)) == 0
        }
    }

    /// The columns of its relation.
    pub fn columns(&self) -> pg_sys::TupleDesc {
        // SAFETY: the slot has a descriptor.
        unsafe { (*self.slot).tts_tupleDescriptor }
    }

    /// The relation that it is a row of.
    pub fn relation(&self) -> pg_sys::Oid {
        // SAFETY: a row has columns.
        unsafe { (*compat::attribute(self.columns(), 0)).attrelid }
    }

    /// A text; an error is raised where the column is of another type.
    #[inline(always)]
    pub fn text(&self, column: usize) -> Option<&str> {
        // Most texts are NULL, which is found out without a call.
        let value = self.raw(column)?;
        // SAFETY: `raw` has given the value, so the slot has the column. ASCII is the same in each encoding of a server.
        unsafe {
            match self.plain(column, value).filter(|text| text.is_ascii()) {
                Some(text) => Some(std::str::from_utf8_unchecked(text)),
                None => self.read_text(column, value),
            }
        }
    }

    /// The bytes of a text, without a look at its encoding.
    #[inline(always)]
    pub fn bytes(&self, column: usize) -> Option<&[u8]> {
        let value = self.raw(column)?;
        // SAFETY: `raw` has given the value, so the slot has the column.
        unsafe {
            match self.plain(column, value) {
                Some(text) => Some(text),
                None => self.read_text(column, value).map(str::as_bytes),
            }
        }
    }

    /// The bytes of a text that is stored here, and as it is.
    ///
    /// # Safety
    /// The value must be that of the column.
    #[inline(always)]
    unsafe fn plain(&self, column: usize, value: Datum) -> Option<&[u8]> {
        // SAFETY: as the caller says. Where the column is a text, it begins with its length: in a byte, or in four.
        unsafe {
            let columns = (*self.slot).tts_tupleDescriptor;
            let text: *const u8 = value.cast_mut_ptr();
            let first = usize::from(*text);
            let is_text = (*compat::attribute(columns, column - 1)).atttypid == pg_sys::TEXTOID;
            let (bytes, length) = if !is_text || cfg!(target_endian = "big") {
                return None;
            } else if first & 1 == 1 && first > 1 {
                (text.add(1), (first >> 1) - 1)
            } else if first & 3 == 0 {
                let length = text.cast::<u32>().read_unaligned() >> 2;
                (text.add(4), length as usize - 4)
            } else {
                return None;
            };
            Some(std::slice::from_raw_parts(bytes, length))
        }
    }

    /// # Safety
    /// The value must be that of the column.
    #[inline(never)]
    unsafe fn read_text(&self, column: usize, value: Datum) -> Option<&str> {
        // SAFETY: as the caller says; the column is a text.
        unsafe {
            let columns = (*self.slot).tts_tupleDescriptor;
            let kind = (*compat::attribute(columns, column - 1)).atttypid;
            if kind != pg_sys::TEXTOID {
                Stored::Text.must_be(kind, column);
            }
            FromDatum::from_datum(value, false)
        }
    }

    /// Of a column of another type only the number would be another one, here and below.
    pub fn int8(&self, column: usize) -> Option<i64> {
        self.by_value(column)
    }

    pub fn int4(&self, column: usize) -> Option<i32> {
        self.by_value(column)
    }

    pub fn boolean(&self, column: usize) -> Option<bool> {
        self.by_value(column)
    }

    fn by_value<T: FromDatum + Copy>(&self, column: usize) -> Option<T> {
        // SAFETY: numbers point to nothing, whatever they were made of.
        self.raw(column)
            .and_then(|datum| unsafe { T::from_datum(datum, false) })
    }
}

/// Whether one of several transactions that have not ended holds more than a share of a row's key.
fn any_holds(several: pg_sys::TransactionId, is_only_lock: bool) -> bool {
    let mut members = std::ptr::null_mut();
    // SAFETY: the server allocates the list, and gives its length.
    unsafe {
        let count = pg_sys::GetMultiXactIdMembers(several, &mut members, false, is_only_lock);
        let count = usize::try_from(count).unwrap_or(0);
        if members.is_null() || count == 0 {
            return false;
        }
        let holds = std::slice::from_raw_parts(members, count)
            .iter()
            .any(|member| {
                member.status != pg_sys::MultiXactStatus::MultiXactStatusForKeyShare
                    && pg_sys::TransactionIdIsInProgress(member.xid)
            });
        pg_sys::pfree(members.cast());
        holds
    }
}

/// Whether a row has no more than a lock FOR KEY SHARE, by its flags.
fn is_weak(marks: u32) -> bool {
    let is_only_lock = marks & pg_sys::HEAP_XMAX_LOCK_ONLY != 0;
    is_only_lock && marks & pg_sys::HEAP_LOCK_MASK == pg_sys::HEAP_XMAX_KEYSHR_LOCK
}

/// # Safety
/// The header must be in memory.
unsafe fn marks(header: pg_sys::HeapTupleHeader) -> u32 {
    // SAFETY: as the caller says.
    u32::from(unsafe { (*header).t_infomask })
}
