//! Gates: counting limits. Queue, tenant, account, session, concurrency key, unique key and batch are all the same struct.

use crate::memory::flags::Bits;
use crate::memory::pace::Pace;
use crate::memory::slab::Slot;
use crate::memory::step::NONE;
use crate::testing::faults::{Seeded, armed};

/// The kinds of gates, in the order of their numbers, each with what a lane calls its key and its node. All that there
/// is one of for each kind is made from this list.
macro_rules! for_each_kind {
    ($make:ident) => {
        $make! {
            Queue: queue,
            Tenant: tenant,
            Account: account,
            Session: session,
            Concurrency: concurrency,
            Unique: unique,
            Batch: batch,
        }
    };
}
pub(crate) use for_each_kind;

macro_rules! gate_kind {
    ($($kind:ident: $name:ident,)*) => {
        #[repr(u8)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum GateKind {
            $($kind,)*
        }

        impl GateKind {
            pub const ALL: [GateKind; [$(GateKind::$kind),*].len()] = [$(GateKind::$kind),*];
        }
    };
}
for_each_kind!(gate_kind);

/// Gates that a lane may pass through.
pub(crate) const MAX_GATES: usize = GateKind::ALL.len();

impl GateKind {
    /// From the queue down to the lane: the levels of the tree of places. A node stands below the last one above it that
    /// the lane has, except those of concurrency keys and sessions: see `lanes/node.rs`.
    pub(crate) const DOWNWARDS: [GateKind; MAX_GATES] = [
        GateKind::Queue,
        GateKind::Tenant,
        GateKind::Account,
        GateKind::Batch,
        GateKind::Concurrency,
        GateKind::Unique,
        GateKind::Session,
    ];

    /// The limit of gates that have no row of settings.
    pub fn fixed_limit(self) -> Option<Limit> {
        matches!(self, GateKind::Session | GateKind::Unique).then_some(Limit::AtMost(1))
    }

    /// Whether all lanes of a session pass the same gate of this kind.
    pub(crate) fn is_same_in_session(self) -> bool {
        matches!(self, GateKind::Queue | GateKind::Tenant | GateKind::Session)
    }
}

impl Default for GateKind {
    fn default() -> Self {
        Self::Queue
    }
}

/// How many may run behind a gate.
#[repr(u8)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limit {
    /// Not read from the tables yet. The claim that reaches the gate reads it.
    #[default]
    Unknown,
    None,
    AtMost(u32),
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Gate {
    pub(crate) key: u64,
    pub(crate) limit: u32,
    /// Drawn again whenever the settings in the tables may have changed; 0: a slot without a gate.
    pub(crate) version: u32,
    /// How many jobs the gate holds. For an idle gate: the previous one in the list of idle gates.
    pub(crate) held_or_prev: u32,
    /// The first of its nodes. For an idle gate: the next one in the list of idle gates.
    pub(crate) node_or_next: u32,
    pub(crate) index_next: u32,
    /// For a tenant.
    pub(crate) weight: u16,
    pub(crate) kind: GateKind,
    pub(crate) bits: Bits,
    /// How many jobs start behind it. For a queue: also when it was last claimed from.
    pub(crate) pace: Pace,
}

const NO_LIMIT: u32 = u32::MAX;
const UNKNOWN_LIMIT: u32 = u32::MAX - 1;
const IDLE: u8 = 1;
const THROTTLED: u8 = 2;
const FREE: u8 = 4;
const FAIR: u8 = 8;
const METERED: u8 = 16;
const AWAITED: u8 = 32;
const DEFAULT: u8 = 64;

impl Slot for Gate {
    type Beside = ();
    const CHAIN: u32 = 2;

    fn next(&self) -> u32 {
        self.index_next
    }
    fn set_next(&mut self, next: u32) {
        self.index_next = next;
    }
    fn is_live(&self, _: &()) -> bool {
        self.version != 0
    }
    fn key(&self, _: &()) -> Option<u64> {
        Some(self.key)
    }
}

impl Gate {
    pub(crate) fn limit(&self) -> Limit {
        match self.limit {
            NO_LIMIT => Limit::None,
            UNKNOWN_LIMIT => Limit::Unknown,
            most => Limit::AtMost(most),
        }
    }

    pub(crate) fn set_limit(&mut self, limit: Limit) {
        self.limit = match limit {
            Limit::None => NO_LIMIT,
            Limit::Unknown => UNKNOWN_LIMIT,
            // This is more than can be counted.
            Limit::AtMost(most) if most >= UNKNOWN_LIMIT => NO_LIMIT,
            Limit::AtMost(most) => most,
        };
    }

    /// Committed running jobs plus what open transactions have reserved. It is below 0 only during a rebuild,
    /// if the end of a job was announced before the job was read.
    pub(crate) fn held(&self) -> i32 {
        match self.is_idle() {
            true => 0,
            false => self.held_or_prev.cast_signed(),
        }
    }

    pub(crate) fn first_node(&self) -> u32 {
        match self.is_idle() {
            true => NONE,
            false => self.node_or_next,
        }
    }

    /// Nothing runs behind it and no lane waits for it.
    pub(crate) fn is_idle(&self) -> bool {
        self.bits.has(IDLE)
    }
    pub(crate) fn set_idle(&mut self, on: bool) {
        self.bits.set(IDLE, on);
    }

    /// Its rate or pause lets nothing start now.
    pub(crate) fn is_throttled(&self) -> bool {
        self.bits.has(THROTTLED)
    }
    pub(crate) fn set_throttled(&mut self, on: bool) {
        self.bits.set(THROTTLED, on);
    }

    /// No rate was in force when its settings were last read.
    pub(crate) fn was_free(&self) -> bool {
        self.bits.has(FREE)
    }
    pub(crate) fn set_free(&mut self, on: bool) {
        self.bits.set(FREE, on);
    }

    /// For a queue: tenants share its starts by weight.
    pub(crate) fn is_fair(&self) -> bool {
        self.bits.has(FAIR)
    }
    pub(crate) fn set_fair(&mut self, on: bool) {
        self.bits.set(FAIR, on);
    }

    /// It has no row of settings of its own.
    pub(crate) fn is_default(&self) -> bool {
        self.bits.has(DEFAULT)
    }
    pub(crate) fn set_default(&mut self, on: bool) {
        self.bits.set(DEFAULT, on);
    }

    /// It has or had a rate, a pause, or jobs that age.
    pub(crate) fn has_meter(&self) -> bool {
        self.bits.has(METERED)
    }
    pub(crate) fn set_has_meter(&mut self) {
        self.bits.set(METERED, true);
    }

    /// A lane that is not in memory waits for it to open.
    pub(crate) fn is_awaited(&self) -> bool {
        self.bits.has(AWAITED)
    }
    pub(crate) fn set_awaited(&mut self, on: bool) {
        self.bits.set(AWAITED, on);
    }

    /// An unknown limit counts as room. A claim that wants to use the gate has to read the limit first.
    pub(crate) fn room(&self) -> u32 {
        match self.limit() {
            Limit::AtMost(most) => {
                let most = most.saturating_add(u32::from(armed(Seeded::OneTooMany)));
                let room = i64::from(most) - i64::from(self.held());
                u32::try_from(room.max(0)).unwrap_or(u32::MAX)
            }
            Limit::None | Limit::Unknown => u32::MAX,
        }
    }
}
