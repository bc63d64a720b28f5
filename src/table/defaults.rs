//! Defaults of columns, as an INSERT that does not name them gives them.

#![allow(unsafe_code, reason = "calls the executor")]

use crate::pg::relation::Opened;
use crate::pg::rights;
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{self, Datum};

/// Whether a column (from 1) has a default that is not NULL; a generated one has none.
pub fn has(relation: &Opened, column: usize) -> bool {
    expression(relation, column).is_some()
}

fn expression(relation: &Opened, column: usize) -> Option<*mut pg_sys::Node> {
    if !relation.may_have_default(column) {
        return None;
    }
    let number = i32::try_from(column).unwrap_or(0);
    // SAFETY: the relation is open and has the column.
    let expression = unsafe { pg_sys::build_column_default(relation.raw(), number) };
    (!expression.is_null()).then_some(expression)
}

/// The defaults of some columns, compiled for the rows of one command.
pub struct Defaults {
    columns: Vec<(usize, *mut pg_sys::ExprState)>,
    state: *mut pg_sys::EState,
}

impl Defaults {
    /// Of columns of a relation, each with the column that gets its default.
    ///
    /// # Safety
    /// The state is that of the command, in whose memory this is called.
    pub unsafe fn of(
        relation: &Opened,
        columns: impl Iterator<Item = (usize, usize)>,
        state: *mut pg_sys::EState,
    ) -> Self {
        rights::pin();
        let compiled = |(from, to)| {
            let expression = expression(relation, from)?;
            // SAFETY: as the caller says.
            let compiled = unsafe { pg_sys::ExecPrepareExpr(expression.cast(), state) };
            Some((to, compiled))
        };
        Self {
            columns: columns.filter_map(compiled).collect(),
            state,
        }
    }

    /// The values for a new row; they live as long as the command.
    pub fn values(&self) -> impl Iterator<Item = (usize, Option<Datum>)> {
        self.columns.iter().map(|&(column, compiled)| {
            let mut is_null = false;
            // SAFETY: the expression was compiled for this state. The command's own memory keeps the value.
            let value = unsafe {
                let context = match (*self.state).es_per_tuple_exprcontext.is_null() {
                    true => pg_sys::MakePerTupleExprContext(self.state),
                    false => (*self.state).es_per_tuple_exprcontext,
                };
                let Some(evaluate) = (*compiled).evalfunc else {
                    return (column, None);
                };
                pg_guard_ffi_boundary(|| evaluate(compiled, context, &mut is_null))
            };
            (column, (!is_null).then_some(value))
        })
    }
}
