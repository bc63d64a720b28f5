//! The kinds of gates: for each, what keys of it are made of, the column of the jobs that names it, and the table in
//! which its limits are set. All that the extension does for each kind of gate goes by this.
//!
//! Keys are stored in the tables, so they must never change: SipHash-1-3 with a zero key over the number of the kind, the
//! keys of the names that the name is scoped to, and the name with its length before it. See pg_test/rules/test_frozen.py.

use crate::job::column;
use crate::pg::spi::{Statement, statement};
use siphasher::sip::SipHasher13;
use std::collections::HashMap;
use std::ffi::CStr;
use std::hash::Hasher;
use turnstile_scheduler::{GateKind, LaneSpec};

/// The column has other numbers in other databases: see [`crate::job::later`].
const NO_COLUMN: usize = 0;

/// The name whose row holds the settings of all names without a row.
pub const DEFAULT_ROW: &str = "*";

pub struct Descriptor {
    pub kind: GateKind,
    /// In stored keys and in `turnstile.gate_setting`. Never change or reuse one.
    pub number: u8,
    /// The kinds that its names are scoped to: an account is one of its tenant.
    pub scope: &'static [GateKind],
    /// The column of a job that names it, with its number if it is always the same.
    pub column: (usize, &'static str),
    /// None: its limit cannot be set.
    pub settings: Option<Settings>,
}

/// A table with the settings of a kind of gate.
pub struct Settings {
    /// What SQL calls the kind: the argument of the triggers, and of `turnstile_internal.gate_key`.
    pub argument: &'static str,
    pub table: &'static CStr,
    /// The columns with the names that the kind is scoped to.
    pub scope: &'static [&'static CStr],
    /// The column with its own name.
    pub name: &'static CStr,
    /// Whether rows with the name `*` hold for names without a row.
    pub has_defaults: bool,
    /// Reads the rows of the gates $1.
    pub statement: &'static Statement,
    /// Other tables that the statement reads.
    pub more: &'static [More],
}

/// A table whose rows change what is set for some names, and not for those without a row.
pub struct More {
    /// The argument of its triggers.
    pub argument: &'static str,
    pub table: &'static CStr,
    /// The column with the name.
    pub name: &'static CStr,
    /// The column from which the name is generated, if it is.
    pub url: Option<&'static CStr>,
}

macro_rules! own_row {
    ($name:literal) => {{
        static STATEMENT: Statement = statement!($name, [INT8ARRAYOID]);
        &STATEMENT
    }};
}

static QUEUE: Descriptor = Descriptor {
    kind: GateKind::Queue,
    number: 0,
    scope: &[],
    column: (column::QUEUE, "queue"),
    settings: Some(Settings {
        argument: "queue",
        table: c"queue",
        scope: &[],
        name: c"name",
        has_defaults: true,
        statement: own_row!("setting_of_queue"),
        more: &[],
    }),
};

static TENANT: Descriptor = Descriptor {
    kind: GateKind::Tenant,
    number: 1,
    scope: &[],
    column: (column::TENANT, "tenant"),
    settings: Some(Settings {
        argument: "tenant",
        table: c"tenant",
        scope: &[],
        name: c"name",
        has_defaults: true,
        statement: own_row!("setting_of_tenant"),
        more: &[],
    }),
};

static ACCOUNT: Descriptor = Descriptor {
    kind: GateKind::Account,
    number: 2,
    scope: &[GateKind::Tenant],
    column: (column::ACCOUNT, "account"),
    settings: Some(Settings {
        argument: "account",
        table: c"account",
        scope: &[c"tenant"],
        name: c"name",
        has_defaults: true,
        statement: own_row!("setting_of_account"),
        more: &[],
    }),
};

static SESSION: Descriptor = Descriptor {
    kind: GateKind::Session,
    number: 3,
    scope: &[GateKind::Queue, GateKind::Tenant],
    column: (column::SESSION, "session"),
    settings: Some(Settings {
        argument: "session",
        table: c"paused_session",
        scope: &[c"queue", c"tenant"],
        name: c"session",
        has_defaults: false,
        statement: own_row!("setting_of_session"),
        more: &[],
    }),
};

static CONCURRENCY: Descriptor = Descriptor {
    kind: GateKind::Concurrency,
    number: 4,
    scope: &[],
    column: (column::CONCURRENCY_KEY, "concurrency_key"),
    settings: Some(Settings {
        argument: "concurrency",
        table: c"concurrency",
        scope: &[],
        name: c"key",
        has_defaults: true,
        statement: own_row!("setting_of_concurrency"),
        more: &[
            More {
                argument: "slowed_key",
                table: c"slowed_key",
                name: c"key",
                url: None,
            },
            More {
                argument: "endpoint",
                table: c"endpoint",
                name: c"concurrency_key",
                url: Some(c"url"),
            },
        ],
    }),
};

static UNIQUE: Descriptor = Descriptor {
    kind: GateKind::Unique,
    number: 5,
    scope: &[GateKind::Tenant],
    column: (column::UNIQUE_KEY, "unique_key"),
    settings: None,
};

/// A batch is named by the id of its parent, which is its key.
static BATCH: Descriptor = Descriptor {
    kind: GateKind::Batch,
    number: 6,
    scope: &[],
    column: (NO_COLUMN, "parent"),
    settings: Some(Settings {
        argument: "batch",
        table: c"batch",
        scope: &[],
        name: c"id",
        has_defaults: false,
        statement: own_row!("setting_of_batch"),
        more: &[],
    }),
};

pub fn of(kind: GateKind) -> &'static Descriptor {
    match kind {
        GateKind::Queue => &QUEUE,
        GateKind::Tenant => &TENANT,
        GateKind::Account => &ACCOUNT,
        GateKind::Session => &SESSION,
        GateKind::Concurrency => &CONCURRENCY,
        GateKind::Unique => &UNIQUE,
        GateKind::Batch => &BATCH,
    }
}

/// In the order of their numbers, which is that of the kinds.
pub fn all() -> impl Iterator<Item = &'static Descriptor> {
    GateKind::ALL.into_iter().map(of)
}

/// The kinds that have a table of settings.
pub fn with_settings() -> impl Iterator<Item = (&'static Descriptor, &'static Settings)> {
    all().filter_map(|gate| gate.settings.as_ref().map(|settings| (gate, settings)))
}

impl Settings {
    /// All tables that the statement reads.
    pub fn tables(&self) -> impl Iterator<Item = &'static CStr> {
        std::iter::once(self.table).chain(self.more.iter().map(|more| more.table))
    }
}

impl Descriptor {
    /// The key of a name, in the scope that the lane has.
    pub fn key(&self, lane: &LaneSpec, name: &str) -> u64 {
        if self.kind == GateKind::Batch {
            return name.parse().map_or(NO_GATE, i64::cast_unsigned);
        }
        let mut hasher = SipHasher13::new();
        hasher.write_u8(self.number);
        for &kind in self.scope {
            hasher.write(&lane.key_of(kind).to_le_bytes());
        }
        hasher.write(&(name.len() as u64).to_le_bytes());
        hasher.write(name.as_bytes());
        not_none(hasher.finish())
    }

    /// The key of a name of a kind without scope.
    pub fn key_anywhere(&self, name: &str) -> u64 {
        self.key(&LaneSpec::default(), name)
    }

    /// The keys of the default rows for a gate of the lane, that which comes first before the others: the row `*` in the
    /// same scope, then the one in the scope `*`.
    pub fn default_keys(&self, lane: &LaneSpec) -> Vec<u64> {
        if !self.has_defaults() {
            return Vec::new();
        }
        let mut every_scope = LaneSpec::default();
        for &kind in self.scope {
            *every_scope.key_mut(kind) = of(kind).key_anywhere(DEFAULT_ROW);
        }
        let mut keys = vec![
            self.key(lane, DEFAULT_ROW),
            self.key(&every_scope, DEFAULT_ROW),
        ];
        keys.dedup();
        keys
    }

    pub fn has_defaults(&self) -> bool {
        let settings = self.settings.as_ref();
        settings.is_some_and(|settings| settings.has_defaults)
    }

    /// Whether the default rows are the same for all gates of the kind.
    pub fn shares_defaults(&self) -> bool {
        self.scope.is_empty() || !self.has_defaults()
    }
}

/// What was found for the first of the keys.
pub fn first_found<T: Copy>(found: &HashMap<u64, T>, keys: &[u64]) -> Option<T> {
    keys.iter().find_map(|key| found.get(key)).copied()
}

/// No gate has this key.
pub const NO_GATE: u64 = 0;

pub fn not_none(key: u64) -> u64 {
    if key == NO_GATE { 1 } else { key }
}
