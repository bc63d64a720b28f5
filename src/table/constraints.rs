//! What the constraints of a table ask of a new row. The executor looks at all columns of each row, and is called where it would
//! find something.

#![allow(unsafe_code, reason = "reads tuple slots and calls the executor")]

use super::slot::Slot;
use crate::pg::relation::Opened;
use crate::pg::rights;
use crate::pg::seeded::{Seeded, armed};
use pgrx::pg_sys;

/// Those of a table, as of a version of the catalog.
pub struct Constraints {
    /// Columns (from 0) that must not be NULL.
    required: Vec<usize>,
    has_checks: bool,
}

impl Constraints {
    pub fn of(table: &Opened) -> Self {
        Self {
            required: table.required_columns(),
            has_checks: table.has_checks(),
        }
    }

    /// Whether the executor has to look at the row.
    ///
    /// # Safety
    /// The slot holds a row of values of the table.
    pub unsafe fn concern(&self, row: Slot) -> bool {
        // SAFETY: as the caller says; the row has the columns of the table.
        let is_null = |&column: &usize| unsafe { *(*row).tts_isnull.add(column) };
        self.has_checks || self.required.iter().any(is_null) && !armed(Seeded::AcceptNulls)
    }

    /// Raises an error if the row does not fulfill them.
    ///
    /// # Safety
    /// As above; `info` has the table open.
    pub unsafe fn check(
        &self,
        info: *mut pg_sys::ResultRelInfo,
        row: Slot,
        state: *mut pg_sys::EState,
    ) {
        // SAFETY: as the caller says.
        unsafe {
            if self.has_checks {
                rights::pin();
            }
            if self.concern(row) {
                pg_sys::ExecConstraints(info, row, state);
            }
        }
    }
}
