//! An index as the catalog describes it. To have the server write its definition as text takes ten times as long.

#![allow(unsafe_code, reason = "has the server write a condition")]

use crate::pg::call::datum;
use crate::pg::catalog;
use crate::pg::catalog_row::Row;
use pgrx::pg_sys::{self, AttrNumber, FormData_pg_index, Oid};
use std::hash::{DefaultHasher, Hash, Hasher};

/// One column of an index, or of the key of a partitioned table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// Of the table; 0: an expression.
    pub column: AttrNumber,
    pub operators: Oid,
    pub collation: Oid,
    /// Not 0: descending, or NULLs in another place.
    pub options: i16,
}

/// An index with nothing but keys and a condition. Which sort of index it is, its operators say.
pub struct Plain {
    pub keys: Vec<Key>,
    pub condition: Option<Condition>,
}

/// A condition as the catalog stores it: a tree, as text.
pub struct Condition {
    tree: String,
    table: Oid,
}

impl Plain {
    /// None for an index that has more, enforces an exclusion constraint or takes NULLs for equal.
    pub fn of(index: Oid) -> Option<Self> {
        let (table, is_plain) = catalog::read(index, |row: &FormData_pg_index| {
            let is_plain =
                row.indnatts == row.indnkeyatts && !row.indisexclusion && !row.indnullsnotdistinct;
            (row.indrelid, is_plain)
        })?;
        let row = Row::of(pg_sys::SysCacheIdentifier::INDEXRELID, index).filter(|_| is_plain)?;
        Some(Self {
            keys: keys(&row)?,
            condition: Condition::of(&row, table),
        })
    }
}

fn keys(row: &Row) -> Option<Vec<Key>> {
    let number = |column: u32| column as AttrNumber;
    let columns = row.numbers::<i16>(number(pg_sys::Anum_pg_index_indkey))?;
    let operators = row.numbers::<Oid>(number(pg_sys::Anum_pg_index_indclass))?;
    let collations = row.numbers::<Oid>(number(pg_sys::Anum_pg_index_indcollation))?;
    let options = row.numbers::<i16>(number(pg_sys::Anum_pg_index_indoption))?;
    let of_columns = columns.into_iter().zip(operators);
    let keys = of_columns.zip(collations.into_iter().zip(options));
    Some(
        keys.map(|((column, operators), (collation, options))| Key {
            column,
            operators,
            collation,
            options,
        })
        .collect(),
    )
}

impl Condition {
    fn of(row: &Row, table: Oid) -> Option<Self> {
        let tree = row.text(pg_sys::Anum_pg_index_indpred as AttrNumber)?;
        Some(Self { tree, table })
    }

    /// Of conditions on one table, those with the same number say the same.
    pub fn number(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.tree.as_str(), u32::from(self.table)).hash(&mut hasher);
        hasher.finish()
    }

    /// As the server writes it, which takes a hundred times as long.
    pub fn written(&self) -> Option<String> {
        let arguments = [datum(self.tree.as_str()), datum(self.table)];
        // SAFETY: the function takes an expression and the table whose columns it names.
        unsafe { pgrx::direct_function_call(pg_sys::pg_get_expr, &arguments) }
    }
}
