//! Applies rates and pauses to gates: a gate is closed while its meter lets nothing start.

use crate::gates::settings::Terms;
use crate::memory::gate::Limit;
use crate::memory::meter::Meter;
use crate::memory::reservation::{Reservation, ReservationId};
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{NONE, Step};
use crate::testing::faults::{Seeded, armed};

impl Scheduler<'_> {
    /// Starts that a gate's clockwork allows now.
    pub(crate) fn starts_left(&self, gate: u32) -> Step<u32> {
        let now = self.header.clock.now;
        Ok(self
            .meter_of(gate)?
            .map_or(u32::MAX, |it| it.starts_left(now)))
    }

    /// Gives a gate the clockwork that its terms ask for.
    pub(crate) fn set_meter(&mut self, gate: u32, terms: &Terms) -> Step<()> {
        let now = self.header.clock.now;
        let mut empty_since = None;
        if !self.gate(gate)?.has_meter() {
            let is_paused = terms.paused_until.is_some_and(|until| until > now);
            if terms.rate.is_none() && !is_paused && terms.aging == 0 {
                return Ok(());
            }
            let meter = Meter {
                gate,
                ..Meter::default()
            };
            self.meters.insert(meter, Some(u64::from(gate)))?;
            let since = match self.gate(gate)?.ran_unmetered() {
                true => now,
                false => self.header.clock.metered_since,
            };
            empty_since = Some(match armed(Seeded::StartFull) {
                true => i64::MIN / 2,
                false => since,
            });
            self.gate_mut(gate)?.set_has_meter();
        }
        let meter = self.meter_slot(gate)?;
        let meter = self.meters.get_mut(meter)?;
        meter.set_rate(terms.rate, now, empty_since);
        meter.paused_until = terms.paused_until.unwrap_or(i64::MIN);
        Ok(())
    }

    pub(crate) fn forget_meter(&mut self, gate: u32) -> Step<()> {
        let meter = self.meter_slot(gate)?;
        self.header.clock.metered_since =
            self.header.clock.metered_since.max(self.header.clock.now);
        if meter == NONE {
            return Ok(());
        }
        self.stop_timer(meter)?;
        self.meters.remove(meter, Some(u64::from(gate)))
    }

    /// A job is about to start behind a gate; true if the gate has to hear what becomes of it.
    pub(crate) fn put_token_by(&mut self, gate: u32) -> Step<bool> {
        let meter = self.meter_slot(gate)?;
        if meter == NONE || self.meters.get(meter)?.starts == 0 {
            if !self.gate(gate)?.ran_unmetered() {
                self.gate_mut(gate)?.set_ran_unmetered();
            }
            return Ok(false);
        }
        let meter = self.meters.get_mut(meter)?;
        meter.put_by = meter.put_by.saturating_add(1);
        self.meter_changed(gate)?;
        Ok(true)
    }

    /// The reserved job is locked: it starts, as of the time of its pick.
    pub(crate) fn charge_tokens(&mut self, id: ReservationId, now: i64) -> Step<()> {
        let reservation = *self.reservations.get(id.0)?;
        self.return_tokens(&reservation, |meter| meter.charge(now))?;
        self.reservations.get_mut(id.0)?.metered = 0;
        Ok(())
    }

    /// Tokens that were put by for a job are no more.
    pub(crate) fn return_tokens(
        &mut self,
        reservation: &Reservation,
        use_up: impl Fn(&mut Meter),
    ) -> Step<()> {
        for (kind, key) in reservation.metered_gates() {
            let Some(gate) = self.find_gate(kind, key)? else {
                continue;
            };
            let meter = self.meter_slot(gate)?;
            if meter != NONE {
                let meter = self.meters.get_mut(meter)?;
                meter.put_by = meter.put_by.saturating_sub(1);
                use_up(meter);
                self.meter_changed(gate)?;
            }
        }
        Ok(())
    }

    pub(crate) fn meter_changed(&mut self, gate: u32) -> Step<()> {
        let was_open = self.gate_is_open(gate)?;
        self.look_at_meter(gate)?;
        self.follow_gate(gate, was_open)
    }

    /// Has a gate sleep while its clockwork lets nothing start, and sets the timer that wakes it.
    pub(crate) fn look_at_meter(&mut self, gate: u32) -> Step<()> {
        let meter = self.meter_slot(gate)?;
        if meter == NONE {
            return Ok(());
        }
        let now = self.header.clock.now;
        let clockwork = self.meters.get_mut(meter)?;
        clockwork.bound_by(now);
        let opens_at = clockwork.opens_at();
        let is_known = self.gate(gate)?.limit() != Limit::Unknown;
        let sleeps = is_known && opens_at.is_none_or(|time| time > now);
        self.gate_mut(gate)?.set_sleeps(sleeps);
        self.stop_timer(meter)?;
        match opens_at {
            Some(time) if sleeps && !armed(Seeded::ForgetTimer) => self.start_timer(meter, time),
            _ => Ok(()),
        }
    }
}
