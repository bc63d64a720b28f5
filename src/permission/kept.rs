//! What roles may do, kept by each backend until a commit changes `turnstile.permission` or the membership of a role.
//! A transaction that has changed the table itself reads it anew.

#![allow(unsafe_code, reason = "is called back by the server's caches")]

use super::verb::Verb;
use crate::job::lane::{EVERY_QUEUE, queue_key};
use crate::job::queue_settings;
use crate::pg::call::datum;
use crate::pg::error::Result;
use crate::pg::rights::Owner;
use crate::pg::roles;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::spi::{Statement, statement, with_spi};
use pgrx::pg_guard;
use pgrx::pg_sys::{self, Datum, Oid, SysCacheIdentifier};
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::ffi::c_int;
use std::rc::Rc;

static PERMISSIONS: Statement = statement!("permissions", [OIDARRAYOID]);

/// The most roles that a backend remembers: a pool may set a role for each request.
const MOST_ROLES: usize = 1_000;

const EVERY_VERB: &str = "*";

type Tenants = HashSet<String>;

/// What a role may do, with the roles that it is a member of: tenants by queue, `*` standing for all of either.
#[derive(Default)]
pub struct Permissions {
    verbs: HashMap<Verb, HashMap<String, Tenants>>,
}

impl Permissions {
    /// `*` asks for all queues or tenants. Jobs without a tenant are only covered by all tenants.
    pub fn allow(&self, verb: Verb, queue: &str, tenant: Option<&str>) -> bool {
        let Some(queues) = self.verbs.get(&verb) else {
            return false;
        };
        let allows = |tenants: &Tenants| {
            tenants.contains(EVERY_QUEUE) || tenant.is_some_and(|name| tenants.contains(name))
        };
        let mut names = [queue, EVERY_QUEUE].into_iter();
        names.any(|name| queues.get(name).is_some_and(allows))
    }

    /// Whether it may do one of these somewhere.
    pub fn has_any(&self, verbs: &[Verb]) -> bool {
        verbs.iter().any(|verb| self.verbs.contains_key(verb))
    }

    /// The keys of the queues that the role may work on, in order.
    pub fn work_queues(&self) -> Rc<[u64]> {
        let queues = self.verbs.get(&Verb::Work).into_iter().flatten();
        let mut keys: Vec<u64> = queues.map(|(name, _)| queue_key(name)).collect();
        keys.sort_unstable();
        keys.into()
    }

    fn add(&mut self, verb: Verb, queue: &str, tenant: &str) {
        // A claim looks at no tenant, so work is for all of them.
        if verb == Verb::Work && tenant != EVERY_QUEUE {
            return;
        }
        let queues = self.verbs.entry(verb).or_default();
        queues
            .entry(queue.into())
            .or_default()
            .insert(tenant.into());
    }
}

#[derive(Default)]
struct Kept {
    of: (u32, u64, u64),
    roles: HashMap<u32, Rc<Permissions>>,
}

thread_local! {
    static KEPT: RefCell<Kept> = RefCell::default();
    /// Changes whenever roles do.
    static ROLES: Cell<u64> = const { Cell::new(0) };
}

/// Called from `_PG_init`.
pub fn register_callbacks() {
    let caches = [
        SysCacheIdentifier::AUTHMEMROLEMEM,
        SysCacheIdentifier::AUTHOID,
        SysCacheIdentifier::DATABASEOID,
    ];
    for cache in caches {
        // SAFETY: the callback lives as long as the process.
        unsafe {
            pg_sys::CacheRegisterSyscacheCallback(
                cache as c_int,
                Some(roles_changed),
                Datum::null(),
            );
        }
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn roles_changed(_argument: Datum, _cache: c_int, _hash: u32) {
    if !armed(Seeded::KeepMemberships) {
        ROLES.set(ROLES.get() + 1);
    }
}

pub fn of_role(role: Oid) -> Result<Rc<Permissions>> {
    // A standby, which is not told of commits, has none.
    let Some((table, version)) = queue_settings::version()? else {
        return read(role).map(Rc::new);
    };
    let of = (u32::from(table), version, ROLES.get());
    if let Some(permissions) = keep(of, |roles| roles.get(&role.into()).cloned()) {
        return Ok(permissions);
    }
    let permissions = Rc::new(read(role)?);
    keep(of, |roles| {
        if roles.len() >= MOST_ROLES {
            roles.clear();
        }
        roles.insert(role.into(), permissions.clone());
    });
    Ok(permissions)
}

/// What is kept for this version. What was kept for another one is dropped.
fn keep<R>(of: (u32, u64, u64), visit: impl FnOnce(&mut HashMap<u32, Rc<Permissions>>) -> R) -> R {
    KEPT.with_borrow_mut(|kept| {
        if kept.of != of {
            kept.of = of;
            kept.roles.clear();
        }
        visit(&mut kept.roles)
    })
}

/// With the rights of the owner: the caller need not be able to read the table.
fn read(role: Oid) -> Result<Permissions> {
    Owner::of_jobs()?.run(|| {
        with_spi(|spi| {
            let rows = spi.run(&PERMISSIONS, &[datum(roles::with_rights_of(role))])?;
            let mut permissions = Permissions::default();
            for row in 0..rows.len() {
                let (queue, tenant) = (rows.required(row, 2)?, rows.required(row, 3)?);
                let name: &str = rows.required(row, 1)?;
                let is_meant = |verb: &Verb| name == EVERY_VERB || verb.name() == name;
                for verb in Verb::ALL.into_iter().filter(is_meant) {
                    permissions.add(verb, queue, tenant);
                }
            }
            Ok(permissions)
        })
    })
}
