//! Gates: counting limits. Queue, tenant, account, session, concurrency key and unique key are all the same struct.

use crate::memory::entry::Kind;
use crate::memory::flags::Bits;
use crate::memory::slab::Slot;
use crate::memory::step::NONE;
use crate::testing::faults::{Seeded, armed};

#[repr(u8)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum GateKind {
    #[default]
    Queue,
    Tenant,
    Account,
    Session,
    Concurrency,
    Unique,
}

/// Gates that a lane may pass through.
pub(crate) const MOST_GATES: usize = GateKind::ALL.len();

impl GateKind {
    pub const ALL: [GateKind; 6] = [
        GateKind::Queue,
        GateKind::Tenant,
        GateKind::Account,
        GateKind::Session,
        GateKind::Concurrency,
        GateKind::Unique,
    ];

    /// The limit of gates that have no row of settings.
    pub fn fixed_limit(self) -> Option<Limit> {
        matches!(self, GateKind::Session | GateKind::Unique).then_some(Limit::AtMost(1))
    }

    pub(crate) fn node(self) -> Kind {
        match self {
            GateKind::Queue => Kind::Queue,
            GateKind::Tenant => Kind::Tenant,
            GateKind::Account => Kind::Account,
            GateKind::Session => Kind::Session,
            GateKind::Concurrency => Kind::Concurrency,
            GateKind::Unique => Kind::Unique,
        }
    }
}

/// How many may run behind a gate.
#[repr(u8)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limit {
    /// Not read from the tables yet: the claim that meets the gate reads it.
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
    /// Drawn anew whenever the limit in the tables may have changed; 0: a slot without a gate.
    pub(crate) version: u32,
    /// How many it holds; of an idle gate the one before it in the list of idle gates.
    pub(crate) held_or_prev: u32,
    /// The first of its nodes; of an idle gate the next in the list.
    pub(crate) node_or_next: u32,
    pub(crate) index_next: u32,
    /// Of a tenant.
    pub(crate) weight: u16,
    pub(crate) kind: GateKind,
    pub(crate) bits: Bits,
}

const NO_LIMIT: u32 = u32::MAX;
const UNKNOWN_LIMIT: u32 = u32::MAX - 1;
const IDLE: u8 = 1;
const SLEEPS: u8 = 2;
const RAN_UNMETERED: u8 = 4;
const FAIR: u8 = 8;
const METERED: u8 = 16;

impl Slot for Gate {
    fn next(&self) -> u32 {
        self.index_next
    }
    fn set_next(&mut self, next: u32) {
        self.index_next = next;
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
            // More than can be counted.
            Limit::AtMost(most) if most >= UNKNOWN_LIMIT => NO_LIMIT,
            Limit::AtMost(most) => most,
        };
    }

    /// Committed running jobs plus what open transactions have reserved. Below 0 only during a rebuild,
    /// when a job's end was heard of before the job was read.
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
    pub(crate) fn sleeps(&self) -> bool {
        self.bits.has(SLEEPS)
    }
    pub(crate) fn set_sleeps(&mut self, on: bool) {
        self.bits.set(SLEEPS, on);
    }

    /// Jobs have started of which no bucket knows.
    pub(crate) fn ran_unmetered(&self) -> bool {
        self.bits.has(RAN_UNMETERED)
    }
    pub(crate) fn set_ran_unmetered(&mut self) {
        self.bits.set(RAN_UNMETERED, true);
    }

    /// Of a queue: tenants share its starts by weight.
    pub(crate) fn is_fair(&self) -> bool {
        self.bits.has(FAIR)
    }
    pub(crate) fn set_fair(&mut self, on: bool) {
        self.bits.set(FAIR, on);
    }

    /// It has, or had, a rate, a pause or jobs that age.
    pub(crate) fn has_meter(&self) -> bool {
        self.bits.has(METERED)
    }
    pub(crate) fn set_has_meter(&mut self) {
        self.bits.set(METERED, true);
    }

    /// An unknown limit counts as room: who wants to use it has to read it first.
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
