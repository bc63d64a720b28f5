//! The settings of gates: what the tables say of each gate, and when they are read.
//!
//! Who changes a setting only invalidates it. The next claim that reaches the gate reads it again.

use crate::memory::gate::{GateKind, Limit};
use crate::memory::scheduler::Scheduler;
use crate::memory::step::Step;
use crate::testing::faults::{Seeded, armed};

/// At most `burst + starts * t / per` starts in any interval of length `t`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    pub starts: u32,
    pub burst: u32,
    /// Microseconds.
    pub per: i64,
}

/// All that the tables of settings say of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    pub limit: Limit,
    pub rate: Option<Rate>,
    /// Closed before this time, in microseconds.
    pub paused_until: Option<i64>,
    /// Of a tenant: its share among tenants where a queue is fair.
    pub weight: u32,
    /// Of a queue: tenants share its starts by weight, whatever their backlog.
    pub is_fair: bool,
    /// Of a queue: how long a job waits for a step of priority, in milliseconds; 0: for ever.
    pub aging: u32,
}

impl From<Limit> for Terms {
    fn from(limit: Limit) -> Self {
        Self {
            limit,
            rate: None,
            paused_until: None,
            weight: 1,
            is_fair: false,
            aging: 0,
        }
    }
}

/// A gate whose limit has to be read from the tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnknownGate {
    pub kind: GateKind,
    pub key: u64,
    /// To be handed back with the limit.
    pub version: u32,
}

impl Scheduler<'_> {
    /// Stores terms read from the tables, unless they may have changed since `version` was noted.
    pub fn set_terms(
        &mut self,
        kind: GateKind,
        key: u64,
        version: u32,
        terms: &Terms,
    ) -> Step<bool> {
        let Some(at) = self.find_gate(kind, key)? else {
            return Ok(false);
        };
        if self.gate(at)?.version != version && !armed(Seeded::IgnoreVersion) {
            return Ok(false);
        }
        let was_open = self.gate_is_open(at)?;
        self.set_meter(at, terms)?;
        let gate = self.gate_mut(at)?;
        gate.set_limit(terms.limit);
        gate.weight = u16::try_from(terms.weight).unwrap_or(u16::MAX);
        let has_new_policy = gate.is_fair() != terms.is_fair;
        gate.set_fair(terms.is_fair);
        self.look_at_meter(at)?;
        self.follow_gate(at, was_open)?;
        self.set_aging(at, terms.aging)?;
        if has_new_policy {
            let queue = self.gate(at)?.first_node();
            self.rank_anew(|it| it == queue)?;
        }
        Ok(true)
    }

    /// The terms in the tables may have changed: the next claim that meets the gate reads them again.
    pub fn invalidate_gate(&mut self, kind: GateKind, key: u64) -> Step<()> {
        self.note_chance();
        if let Some(at) = self.find_gate(kind, key)? {
            self.invalidate(at)?;
        }
        Ok(())
    }

    /// As [`Self::invalidate_gate`] for all gates of a kind: a default row has changed.
    pub fn invalidate_kind(&mut self, kind: GateKind) -> Step<()> {
        self.note_chance();
        for at in self.gates.touched() {
            let gate = self.gate(at)?;
            if gate.version != 0 && gate.kind == kind {
                self.invalidate(at)?;
            }
        }
        Ok(())
    }

    /// Some sessions may be paused: the terms of those that are not known yet have to be read.
    pub fn expect_paused_sessions(&mut self) {
        self.header.settings.has_paused_sessions = true;
    }

    /// The tables that the memory is rebuilt from have no paused session.
    pub fn no_paused_sessions(&mut self) {
        self.header.settings.has_unread_sessions = false;
    }

    /// What is known of a gate before the tables are read.
    pub(crate) fn first_limit(&self, kind: GateKind) -> Limit {
        match kind {
            GateKind::Session
                if self.header.settings.has_paused_sessions
                    || self.header.settings.has_unread_sessions =>
            {
                Limit::Unknown
            }
            _ => kind.fixed_limit().unwrap_or_default(),
        }
    }

    /// A gate must be within reach to be read, so it does not sleep meanwhile.
    fn invalidate(&mut self, at: u32) -> Step<()> {
        let version = self.next_version();
        let was_open = self.gate_is_open(at)?;
        let gate = self.gate_mut(at)?;
        gate.version = version;
        gate.set_limit(Limit::Unknown);
        self.look_at_meter(at)?;
        self.follow_gate(at, was_open)
    }
}
