//! Code of users that runs when rows are written. It runs with the owner's rights, so never with the caller's search
//! path.

#![allow(unsafe_code, reason = "reads what the executor knows of indexes")]

use crate::pg::rights;
use pgrx::pg_sys;

/// Operator classes that came with the server have lower OIDs.
const FIRST_OF_USERS: u32 = pg_sys::FirstNormalObjectId;

/// Pins the search path if an open index has an expression, a condition, or an operator of a user.
///
/// # Safety
/// The table and its indexes must be open.
pub unsafe fn pin_for_indexes(info: *mut pg_sys::ResultRelInfo) {
    // SAFETY: both arrays have as many elements as indexes are open; each index has an operator family for a key column.
    let is_plain = unsafe {
        let count = usize::try_from((*info).ri_NumIndices).unwrap_or(0);
        (0..count).all(|at| {
            let index = *(*info).ri_IndexRelationInfo.add(at);
            let relation = *(*info).ri_IndexRelationDescs.add(at);
            let keys = usize::try_from((*index).ii_NumIndexKeyAttrs).unwrap_or(0);
            (*index).ii_Expressions.is_null()
                && (*index).ii_Predicate.is_null()
                && (0..keys)
                    .all(|key| u32::from(*(*relation).rd_opfamily.add(key)) < FIRST_OF_USERS)
        })
    };
    if !is_plain {
        rights::pin();
    }
}
