//! What differs between the major versions of PostgreSQL. Only this folder may say which one it is: a version is added
//! here, behind functions that keep their meaning.

mod processes;
mod relations;
mod rows;

pub use processes::*;
pub use relations::*;
pub use rows::*;

use pgrx::pg_sys;

/// The column of `pg_auth_members` that has the role which was granted.
#[cfg(feature = "pg15")]
pub const ROLE_THAT_HAS_MEMBER: pg_sys::AttrNumber = 1;
#[cfg(not(feature = "pg15"))]
pub const ROLE_THAT_HAS_MEMBER: pg_sys::AttrNumber = 2;
