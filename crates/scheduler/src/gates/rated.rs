//! Whether a rate begins with a full bucket: only where none was in force for the gate since the last that was, whatever rows said
//! the one and the other.
//!
//! That none was in force is known from the settings that were read last, or from the time that comes with a rate. Rows tell the time,
//! and cannot tell of each name that inherits a rate whether it had one of its own then. So memory keeps until when a rate was certainly in force.

use crate::gates::settings::{GateSettings, LONG_AGO};
use crate::memory::gate::{GateKind, Limit};
use crate::memory::meter::Meter;
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{NONE, Step};
use crate::testing::faults::{Seeded, armed};

impl Meter {
    pub(crate) fn note_rate(&mut self, time: i64) {
        self.rated_until = self.rated_until.max(time);
    }
}

impl Scheduler<'_> {
    pub(crate) fn note_free(&mut self, gate: u32, is_free: bool) -> Step<()> {
        if is_free || !armed(Seeded::StayFree) {
            self.gate_mut(gate)?.set_free(is_free);
        }
        Ok(())
    }

    /// Whether settings that are read bring a rate where there was none. The gate has a meter by now.
    pub(crate) fn begins_full(&self, gate: u32, settings: &GateSettings) -> Step<bool> {
        if settings.rate.is_none() || armed(Seeded::StartEmpty) {
            return Ok(false);
        }
        let rated_until = self.meters.get(self.meter_slot(gate)?)?.rated_until;
        let clock = &self.header.clock;
        let last_doubt = match rated_until {
            LONG_AGO => clock
                .lost_rate_at
                .max(clock.metered_since.saturating_sub(1)),
            known => known,
        };
        Ok(self.gate(gate)?.was_free() || settings.rate_since > last_doubt)
    }

    /// What is known of a gate has held up to now: so has its rate.
    pub(crate) fn note_rate_until_now(&mut self, gate: u32) -> Step<()> {
        let now = self.header.clock.now;
        let is_known = self.gate(gate)?.limit() != Limit::Unknown;
        if is_known
            && let Some(meter) = self.meter_mut_of(gate)?
            && meter.rate().is_some()
        {
            meter.note_rate(now);
        }
        Ok(())
    }

    /// A row has lost a rate that was in force since then and up to now. Starts under it may not be on record: what a rate says of the
    /// time before now holds for no gate that is met later. Harms no memory that is distrusted.
    pub fn doubt_rates(&mut self, since: i64, now: i64) {
        let clock = &mut self.header.clock;
        if since < clock.metered_since || since <= clock.lost_rate_at {
            clock.lost_rate_at = clock.lost_rate_at.max(now);
        }
    }

    /// As [`Self::doubt_rates`] up to the time that was told last, of the row of a gate, or for none of a default row of the kind. The
    /// rate that its names have from now on may come from a row that was set meanwhile.
    pub fn lose_rate(&mut self, kind: GateKind, key: Option<u64>, since: i64) -> Step<()> {
        if armed(Seeded::ForgetLoss) {
            return Ok(());
        }
        self.doubt_rates(since, self.header.clock.now);
        match key {
            Some(key) => match self.find_gate(kind, key)? {
                Some(gate) => self.lose_rate_of(gate, since),
                None => Ok(()),
            },
            None => {
                for gate in self.gates.touched() {
                    let state = self.gate(gate)?;
                    if state.version != 0 && state.kind == kind {
                        self.lose_rate_of(gate, since)?;
                    }
                }
                Ok(())
            }
        }
    }

    fn lose_rate_of(&mut self, gate: u32, since: i64) -> Step<()> {
        let now = self.header.clock.now;
        if let Some(meter) = self.meter_mut_of(gate)?
            && meter.rated_until > LONG_AGO
            && meter.rated_until >= since
        {
            meter.note_rate(now);
        }
        Ok(())
    }

    fn meter_mut_of(&mut self, gate: u32) -> Step<Option<&mut Meter>> {
        match self.meter_slot(gate)? {
            NONE => Ok(None),
            meter => self.meters.get_mut(meter).map(Some),
        }
    }
}
