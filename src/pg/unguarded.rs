//! Functions of the server that raise no error. The bindings guard every call against one, which takes longer than these
//! functions do; so they are called as they are.

#![allow(unsafe_code, reason = "declares functions of the server")]

use pgrx::pg_sys::{
    Buffer, FullTransactionId, JsonbIterator, JsonbIteratorToken, JsonbValue, LWLock, Oid,
    TimestampTz, TransactionId, TupleTableSlot,
};
use std::ffi::c_int;

// SAFETY: as the server's headers declare them. Those that are safe read the clock or the state of this backend.
unsafe extern "C-unwind" {
    pub safe fn GetCurrentTimestamp() -> TimestampTz;
    pub safe fn GetCurrentTransactionNestLevel() -> c_int;
    pub safe fn GetTopFullTransactionIdIfAny() -> FullTransactionId;
    pub safe fn GetTopTransactionIdIfAny() -> TransactionId;
    pub safe fn IsTransactionBlock() -> bool;
    pub safe fn GetUserId() -> Oid;
    /// Fills in both.
    pub fn GetUserIdAndSecContext(user: *mut Oid, context: *mut c_int);
    pub fn SetUserIdAndSecContext(user: Oid, context: c_int);
    /// Of a buffer that is held.
    pub fn ReleaseBuffer(buffer: Buffer);
    pub fn LWLockHeldByMe(lock: *mut LWLock) -> bool;
    /// Of a slot of a table.
    pub fn ExecStoreAllNullTuple(slot: *mut TupleTableSlot) -> *mut TupleTableSlot;
    /// Of a slot with a row, and columns that it has.
    pub fn slot_getsomeattrs_int(slot: *mut TupleTableSlot, columns: c_int);
    /// Nothing is allocated where it passes over what is nested.
    pub fn JsonbIteratorNext(
        iterator: *mut *mut JsonbIterator,
        value: *mut JsonbValue,
        passes_over_nested: bool,
    ) -> JsonbIteratorToken::Type;
}
