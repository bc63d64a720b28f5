//! Types of values that a row points to. A value of another type must not be read as one of them.

#![allow(unsafe_code, reason = "looks up the type of a domain")]

use crate::pg::error::not_of_type;
use pgrx::pg_sys::{self, Oid};

/// What a column of the extension's tables must hold.
#[derive(Clone, Copy)]
pub enum Stored {
    Text,
    Texts,
    Interval,
    Json,
}

impl Stored {
    /// Raises an error unless values of a column's type are stored so. The type may be a domain, or a text with a length.
    #[cold]
    pub fn must_be(self, kind: Oid, column: usize) {
        // SAFETY: a look-up in the catalog, inside a transaction.
        let base = unsafe { pg_sys::getBaseType(kind) };
        let (name, types): (&str, &[Oid]) = match self {
            Self::Text => ("text", &[pg_sys::TEXTOID, pg_sys::VARCHAROID]),
            Self::Texts => ("text[]", &[pg_sys::TEXTARRAYOID, pg_sys::VARCHARARRAYOID]),
            Self::Interval => ("interval", &[pg_sys::INTERVALOID]),
            Self::Json => ("jsonb", &[pg_sys::JSONBOID]),
        };
        if !types.contains(&base) {
            not_of_type(name, column).raise();
        }
    }
}
