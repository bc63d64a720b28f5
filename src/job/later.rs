//! Columns of jobs that came with a later release. An upgrade adds them behind those of users, so they are found by name, once
//! for each relation. Few jobs have a value there, and that is found out without reading the row.

#![allow(unsafe_code, reason = "looks up columns by name")]

use crate::pg::catalog;
use crate::pg::compat;
use crate::pg::relation::Opened;
use crate::pg::stored::Stored;
use crate::pg::tuple::RawRow;
use pgrx::pg_sys::{self, Oid, TupleDesc};
use std::cell::RefCell;
use std::ffi::CStr;

/// Their numbers (from 1) in one relation; 0: it has none of the name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Later {
    pub parent: usize,
    pub opens_batch: usize,
    pub children: usize,
    pub has_followers: usize,
    pub lease: usize,
    pub unique_states: usize,
    pub first_started_at: usize,
    pub waited: usize,
    pub claim_epoch: usize,
    pub waits_for: usize,
}

/// Relations whose columns are kept: the jobs, and some days of the history.
const MOST: usize = 8;

struct Known {
    relation: Oid,
    version: u64,
    columns: Later,
}

thread_local! {
    static KNOWN: RefCell<Vec<Known>> = const { RefCell::new(Vec::new()) };
}

impl Later {
    pub fn of(row: &RawRow) -> Self {
        let relation = row.relation();
        let version = catalog::version();
        let is_it = |known: &&Known| known.relation == relation && known.version == version;
        let known = KNOWN.with_borrow(|known| known.iter().find(is_it).map(|it| it.columns));
        known.unwrap_or_else(|| Self::look_up(relation, row.columns()))
    }

    /// Of an open relation.
    pub fn of_relation(relation: &Opened) -> Self {
        // SAFETY: the relation is open.
        let columns = unsafe { (*relation.raw()).rd_att };
        Self::look_up(relation.oid(), columns)
    }

    fn look_up(relation: Oid, columns: TupleDesc) -> Self {
        catalog::watch(relation);
        let version = catalog::version();
        // SAFETY: the descriptor is that of a row or of an open relation.
        let number = |name: &CStr| unsafe { pg_sys::SPI_fnumber(columns, name.as_ptr()) };
        let number = |name| usize::try_from(number(name)).unwrap_or(0);
        // What a row points to is read without a look at its type.
        let number_of = |name, stored: Stored| {
            let column = number(name);
            if column > 0 {
                // SAFETY: the descriptor has the column.
                let kind = unsafe { (*compat::attribute(columns, column - 1)).atttypid };
                stored.must_be(kind, column);
            }
            column
        };
        let found = Self {
            parent: number(c"parent"),
            opens_batch: number(c"opens_batch"),
            children: number_of(c"children", Stored::Json),
            has_followers: number(c"has_followers"),
            lease: number_of(c"lease", Stored::Interval),
            unique_states: number_of(c"unique_states", Stored::Texts),
            first_started_at: number(c"first_started_at"),
            waited: number_of(c"waited", Stored::Interval),
            claim_epoch: number(c"claim_epoch"),
            waits_for: number_of(c"waits_for", Stored::Text),
        };
        KNOWN.with_borrow_mut(|known| {
            known.retain(|it| it.version == version && it.relation != relation);
            if known.len() >= MOST {
                known.clear();
            }
            known.push(Known {
                relation,
                version,
                columns: found,
            });
        });
        found
    }
}
