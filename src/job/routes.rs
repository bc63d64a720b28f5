//! Which queue the jobs of a kind go to. Backends keep what the tables say until a commit changes it; a transaction that has changed it
//! itself reads it anew.

use crate::job::patterns::{matches, rank};
use crate::job::queue_settings::{self, Version};
use crate::pg::error::Result;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::spi::{Spi, Statement, statement};
use crate::shmem;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

static ROUTES: Statement = statement!("routes", []);
static ENDPOINTS: Statement = statement!("endpoints", []);

const DEFAULT_QUEUE: &str = "default";

#[derive(Clone, Debug, Default)]
pub struct Route {
    pub pattern: String,
    pub queue: Option<String>,
    pub priority_offset: i32,
    pub is_override: bool,
    pub concurrency_key: Option<String>,
}

/// Where the jobs of some kinds are sent.
#[derive(Clone, Debug, Default)]
pub struct Endpoint {
    pub pattern: String,
    /// Its jobs get it unless they have another.
    pub concurrency_key: Option<String>,
}

#[derive(Debug, Default)]
pub struct Routes {
    routes: ByPattern<Route>,
    endpoints: ByPattern<Endpoint>,
}

/// Rows by their patterns. One without `*` wins over all others, so a kind is looked up, whatever the number of such rows. Of the others
/// the first that matches wins.
#[derive(Debug)]
struct ByPattern<T> {
    exact: HashMap<String, T>,
    with_wildcards: Vec<(String, T)>,
}

/// What a producer names or a route decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target<'a> {
    pub queue: &'a str,
    pub concurrency_key: Option<&'a str>,
    pub priority: i32,
}

thread_local! {
    static KEPT: RefCell<Option<(Version, Rc<Routes>)>> = const { RefCell::new(None) };
}

impl Routes {
    pub fn of_kind(&self, kind: &str) -> Option<&Route> {
        self.routes.of_kind(kind)
    }

    pub fn endpoint_of(&self, kind: &str) -> Option<&Endpoint> {
        self.endpoints.of_kind(kind)
    }

    fn is_empty(&self) -> bool {
        self.routes.is_empty() && self.endpoints.is_empty()
    }

    /// The key of the host of the kind's endpoint.
    fn host_key(&self, kind: &str) -> Option<&str> {
        if self.endpoints.is_empty() || armed(Seeded::ForgetHost) {
            return None;
        }
        self.endpoint_of(kind)?.concurrency_key.as_deref()
    }

    /// Where a job goes; a queue of `None` was left out by the producer.
    pub fn target<'a>(
        &'a self,
        kind: &str,
        queue: Option<&'a str>,
        concurrency_key: Option<&'a str>,
        priority: i32,
    ) -> Target<'a> {
        let target = self.routed(kind, queue, concurrency_key, priority);
        Target {
            concurrency_key: target.concurrency_key.or_else(|| self.host_key(kind)),
            ..target
        }
    }

    fn routed<'a>(
        &'a self,
        kind: &str,
        queue: Option<&'a str>,
        concurrency_key: Option<&'a str>,
        priority: i32,
    ) -> Target<'a> {
        let named = Target {
            queue: queue.unwrap_or(DEFAULT_QUEUE),
            concurrency_key,
            priority,
        };
        let holds = |route: &&Route| route.is_override || queue.is_none();
        let Some(route) = self.of_kind(kind).filter(holds) else {
            return named;
        };
        let key = route.concurrency_key.as_deref();
        Target {
            queue: route.queue.as_deref().unwrap_or(named.queue),
            concurrency_key: match route.is_override {
                true => key.or(concurrency_key),
                false => concurrency_key.or(key),
            },
            priority: priority.saturating_add(route.priority_offset),
        }
    }
}

impl<T> ByPattern<T> {
    fn of(rows: impl Iterator<Item = Result<T>>, pattern: fn(&T) -> &str) -> Result<Self> {
        let mut by_pattern = Self::default();
        for row in rows {
            let row = row?;
            let pattern = pattern(&row).to_owned();
            match pattern.contains('*') {
                true => by_pattern.with_wildcards.push((pattern, row)),
                false => _ = by_pattern.exact.insert(pattern, row),
            }
        }
        let others = &mut by_pattern.with_wildcards;
        others.sort_unstable_by(|(one, _), (other, _)| rank(one).cmp(&rank(other)));
        Ok(by_pattern)
    }

    fn is_empty(&self) -> bool {
        self.exact.is_empty() && self.with_wildcards.is_empty()
    }

    fn of_kind(&self, kind: &str) -> Option<&T> {
        let mut others = self.with_wildcards.iter();
        self.exact
            .get(kind)
            .or_else(|| Some(&others.find(|(pattern, _)| matches(pattern, kind))?.1))
    }
}

impl<T> Default for ByPattern<T> {
    fn default() -> Self {
        Self {
            exact: HashMap::new(),
            with_wildcards: Vec::new(),
        }
    }
}

/// The routes in force for this transaction.
pub fn current(spi: &Spi) -> Result<Rc<Routes>> {
    let Some(version) = queue_settings::version()? else {
        return read(spi).map(Rc::new);
    };
    let kept = KEPT.with_borrow(|kept| kept.clone());
    if let Some((_, routes)) = kept.filter(|(of, _)| *of == version) {
        return Ok(routes);
    }
    let routes = Rc::new(find(spi, version)?);
    KEPT.set(Some((version, routes.clone())));
    Ok(routes)
}

/// As others have read them, if there are none.
fn find(spi: &Spi, (table, version): Version) -> Result<Routes> {
    if shmem::recall(table, |read| read.has_no_routes(version)) == Some(true) {
        return Ok(Routes::default());
    }
    let routes = read(spi)?;
    if routes.is_empty() && queue_settings::can_be_shared() {
        shmem::remember(table, version, |read| read.note_no_routes(version));
    }
    Ok(routes)
}

fn read(spi: &Spi) -> Result<Routes> {
    let rows = spi.run(&ROUTES, &[])?;
    let route = |row| {
        Ok(Route {
            pattern: rows.required(row, 1)?,
            queue: rows.value(row, 2),
            priority_offset: rows.required(row, 3)?,
            is_override: rows.required(row, 4)?,
            concurrency_key: rows.value(row, 5),
        })
    };
    let routes = ByPattern::of((0..rows.len()).map(route), |route| &route.pattern)?;
    let rows = spi.run(&ENDPOINTS, &[])?;
    let endpoint = |row| {
        Ok(Endpoint {
            pattern: rows.required(row, 1)?,
            concurrency_key: rows.value(row, 2),
        })
    };
    let endpoints = ByPattern::of((0..rows.len()).map(endpoint), |endpoint| &endpoint.pattern)?;
    Ok(Routes { routes, endpoints })
}

/// Where the jobs of some kinds go, as arrays, for the statement that moves many jobs at once.
#[derive(Default)]
pub struct Columns {
    pub kinds: Vec<String>,
    pub queues: Vec<Option<String>>,
    pub concurrency_keys: Vec<Option<String>>,
    pub host_keys: Vec<Option<String>>,
}

impl Columns {
    pub fn of(routes: &Routes, kinds: impl Iterator<Item = String>) -> Self {
        let mut columns = Self::default();
        for kind in kinds {
            let (route, host_key) = (routes.of_kind(&kind), routes.host_key(&kind));
            if route.is_none() && host_key.is_none() {
                continue;
            }
            columns.host_keys.push(host_key.map(String::from));
            columns.kinds.push(kind);
            columns
                .queues
                .push(route.and_then(|route| route.queue.clone()));
            columns
                .concurrency_keys
                .push(route.and_then(|route| route.concurrency_key.clone()));
        }
        columns
    }
}
