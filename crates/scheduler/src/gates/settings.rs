//! The settings of gates: what the tables say of each gate, and when they are read.
//!
//! A change of a setting only invalidates what is stored. The next claim that reaches the gate reads it again.

use crate::memory::gate::{GateKind, Limit};
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{NONE, Step};
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

/// Before anything that is on record.
pub const LONG_AGO: i64 = i64::MIN;

/// All settings of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GateSettings {
    pub limit: Limit,
    pub rate: Option<Rate>,
    /// A time at which there was no rate in force, and since when there is one as far as the tables know; [`LONG_AGO`]: not known.
    pub rate_since: i64,
    /// Closed before this time, in microseconds.
    pub paused_until: Option<i64>,
    /// For a tenant: its share among the tenants of a fair queue.
    pub weight: u32,
    /// For a queue: tenants share its starts by weight, whatever their backlog.
    pub is_fair: bool,
    /// For a queue: how long a job waits for one step of priority, in milliseconds; 0: jobs do not age.
    pub aging: u32,
    /// There is a row of settings for this gate, and not only for those without one.
    pub has_own_row: bool,
}

impl From<Limit> for GateSettings {
    fn from(limit: Limit) -> Self {
        Self {
            limit,
            rate: None,
            rate_since: LONG_AGO,
            paused_until: None,
            weight: 1,
            is_fair: false,
            aging: 0,
            has_own_row: true,
        }
    }
}

/// A gate whose settings have to be read from the tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnknownGate {
    pub kind: GateKind,
    pub key: u64,
    /// To be handed back with the settings.
    pub version: u32,
}

impl Scheduler<'_> {
    /// Stores settings that were read from the tables, unless they may have changed since `version` was
    /// noted. Returns whether they were stored.
    pub fn set_gate_settings(
        &mut self,
        kind: GateKind,
        key: u64,
        version: u32,
        settings: &GateSettings,
    ) -> Step<bool> {
        let Some(at) = self.find_gate(kind, key)? else {
            return Ok(false);
        };
        if self.gate(at)?.version != version && !armed(Seeded::IgnoreVersion) {
            return Ok(false);
        }
        let was_open = self.gate_is_open(at)?;
        self.set_meter(at, settings)?;
        let gate = self.gate_mut(at)?;
        gate.set_limit(settings.limit);
        gate.weight = u16::try_from(settings.weight).unwrap_or(u16::MAX);
        let has_new_policy = gate.is_fair() != settings.is_fair;
        gate.set_fair(settings.is_fair);
        gate.set_default(!settings.has_own_row);
        self.update_meter(at)?;
        self.update_nodes_of(at, was_open)?;
        self.update_all_nodes_of(at)?;
        if kind == GateKind::Queue {
            self.set_aging(at, settings.aging)?;
            self.update_policy(at, has_new_policy)?;
        }
        Ok(true)
    }

    /// Gates of the same kind whose settings are not known either and that something uses: those that follow in memory,
    /// `looks` slots far. Returns how many are put into `found`.
    pub fn unknown_gates_behind(
        &self,
        kind: GateKind,
        key: u64,
        looks: u32,
        found: &mut [UnknownGate],
    ) -> Step<usize> {
        let Some(first) = self.find_gate(kind, key)? else {
            return Ok(0);
        };
        let last = *self.gates.touched().end();
        let (mut at, mut places) = (first, found.iter_mut());
        for _ in 0..looks.min(last) {
            at = if at < last { at + 1 } else { 1 };
            let is_used = at != first && !self.gate(at)?.is_idle();
            let unknown = self.unknown_gate_at(at)?;
            let Some(gate) = unknown.filter(|gate| is_used && gate.kind == kind) else {
                continue;
            };
            match places.next() {
                Some(place) => *place = gate,
                None => break,
            }
        }
        let free = places.len();
        Ok(found.len().saturating_sub(free))
    }

    fn update_policy(&mut self, queue_gate: u32, has_changed: bool) -> Step<()> {
        let queue = self.gate(queue_gate)?.first_node();
        if queue == NONE {
            return Ok(());
        }
        if has_changed {
            self.rerank_queue(queue)?;
        }
        self.update_top(queue)
    }

    /// The settings in the tables may have changed, as of the time that was told last. The next claim that reaches the gate reads
    /// them again.
    pub fn invalidate_gate(&mut self, kind: GateKind, key: u64) -> Step<()> {
        if let Some(at) = self.find_gate(kind, key)? {
            self.invalidate(at)?;
        }
        Ok(())
    }

    /// The same for all gates of a kind, because a default row has changed.
    pub fn invalidate_kind(&mut self, kind: GateKind) -> Step<()> {
        for at in self.gates.touched() {
            let gate = self.gate(at)?;
            if gate.version != 0 && gate.kind == kind {
                self.invalidate(at)?;
            }
        }
        Ok(())
    }

    /// Some sessions may be paused. The settings of sessions that are not known yet have to be read.
    pub fn expect_paused_sessions(&mut self) {
        self.header.settings.has_paused_sessions = true;
    }

    /// The tables from which the memory is rebuilt have no paused session.
    pub fn no_paused_sessions(&mut self) {
        self.header.settings.has_unread_sessions = false;
    }

    /// Whether some sessions are paused, as far as is known.
    pub fn may_have_paused_sessions(&self) -> bool {
        let settings = &self.header.settings;
        settings.has_paused_sessions || settings.has_unread_sessions
    }

    /// What is known of a gate before its settings are read.
    pub(crate) fn initial_limit(&self, kind: GateKind) -> Limit {
        match kind {
            GateKind::Session if self.may_have_paused_sessions() => Limit::Unknown,
            _ => kind.fixed_limit().unwrap_or_default(),
        }
    }

    /// Only a gate that can be reached is read, so it is not throttled meanwhile.
    fn invalidate(&mut self, at: u32) -> Step<()> {
        self.note_rate_until_now(at)?;
        let version = self.next_version();
        let was_open = self.gate_is_open(at)?;
        let gate = self.gate_mut(at)?;
        gate.version = version;
        gate.set_limit(Limit::Unknown);
        self.update_meter(at)?;
        self.update_nodes_of(at, was_open)?;
        let kind = self.gate(at)?.kind;
        match self.gate(at)?.first_node() {
            NONE => Ok(()),
            queue if kind == GateKind::Queue => self.update_top(queue),
            // In fair queues it may not be known any more what is next.
            _ => self.update_all_nodes_of(at),
        }
    }
}
