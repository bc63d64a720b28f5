//! What roles are members of.

#![allow(unsafe_code, reason = "reads rows of the catalog")]

use crate::pg::compat::ROLE_THAT_HAS_MEMBER;
use pgrx::FromDatum;
use pgrx::pg_sys::{self, Datum, Oid, SysCacheIdentifier};
use std::collections::HashSet;

/// The roles whose rights a role has, itself among them. Each membership is followed, so that no other roles are looked at, however many
/// there are.
pub fn with_rights_of(role: Oid) -> Vec<Oid> {
    let mut known = HashSet::from([role]);
    let mut found = vec![role];
    let mut next = 0;
    while let Some(&member) = found.get(next) {
        next += 1;
        found.extend(
            granted_to(member)
                .into_iter()
                .filter(|&each| known.insert(each)),
        );
    }
    // Nobody is granted it: the owner of the database is a member.
    found.push(pg_sys::ROLE_PG_DATABASE_OWNER.into());
    // SAFETY: a look-up in the catalog, inside a transaction.
    found.retain(|&each| unsafe { pg_sys::has_privs_of_role(role, each) });
    found
}

fn granted_to(member: Oid) -> Vec<Oid> {
    let cache = SysCacheIdentifier::AUTHMEMMEMROLE.cast_signed();
    let (none, one) = (Datum::null(), 1);
    // SAFETY: a look-up by the first column, inside a transaction; the list has as many members as it says, and is held meanwhile.
    unsafe {
        let list = pg_sys::SearchSysCacheList(cache, one, member.into(), none, none);
        let count = usize::try_from((*list).n_members).unwrap_or(0);
        let members = (*list).members.as_slice(count);
        let roles = members.iter().filter_map(|&each| {
            let mut is_null = false;
            let row = &raw mut (*each).tuple;
            let role = pg_sys::SysCacheGetAttr(cache, row, ROLE_THAT_HAS_MEMBER, &mut is_null);
            Oid::from_datum(role, is_null)
        });
        let found = roles.collect();
        pg_sys::ReleaseCatCacheList(list);
        found
    }
}
