//! Until when a rate was certainly in force, whatever row said it: one that is set after that may begin with a full bucket.

use crate::gates::settings::LONG_AGO;
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
    /// What is known of a gate has held up to now: so has its rate.
    pub(crate) fn note_rate_until_now(&mut self, gate: u32) -> Step<()> {
        let now = self.header.clock.now;
        let is_known = self.gate(gate)?.limit() != Limit::Unknown;
        if is_known
            && !armed(Seeded::ForgetRate)
            && let Some(meter) = self.meter_mut_of(gate)?
            && meter.rate().is_some()
        {
            meter.note_rate(now);
        }
        Ok(())
    }

    /// The row of a gate, or for none a default row of the kind, has lost a rate that was in force since then and up to now. The rate
    /// that its names have from now on may come from a row that was set meanwhile.
    pub fn lose_rate(&mut self, kind: GateKind, key: Option<u64>, since: i64) -> Step<()> {
        if armed(Seeded::ForgetLoss) {
            return Ok(());
        }
        let clock = &mut self.header.clock;
        if since < clock.metered_since {
            // Starts under it may not be on record.
            clock.lost_rate_at = clock.lost_rate_at.max(clock.now);
        }
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
