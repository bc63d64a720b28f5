//! The worker that claims, and for how long.

use crate::job::gates::not_none;
use crate::shmem::Owner;
use pgrx::datum::Interval;
use pgrx::pg_sys::Datum;
use siphasher::sip::SipHasher13;
use std::cell::Cell;
use std::hash::Hasher;

/// What a claiming call says about its worker.
pub struct Claimer<'a> {
    pub worker: Option<Datum>,
    /// The name of the worker, as far as memory keeps it, and the key of the whole name.
    pub name: Option<&'a [u8]>,
    pub key: u64,
    /// The queues that the call names, in order.
    pub queues: &'a [u64],
    /// 1 until memory knows that the worker claims.
    pub not_noted: Cell<u64>,
    pub lease: Option<Interval>,
    pub owner: Option<Owner>,
    /// How many microseconds to sleep at most where there is nothing to claim.
    pub wait: Option<i64>,
}

/// The key of claims that name no worker.
const NAMELESS: u64 = 1;

pub fn worker_key(name: Option<&[u8]>) -> u64 {
    let Some(name) = name else {
        return NAMELESS;
    };
    let mut hasher = SipHasher13::new();
    hasher.write(name);
    not_none(hasher.finish())
}
