//! Applies rates and pauses to gates: a gate is closed while its meter lets nothing start.

use crate::gates::bucket::Bucket;
use crate::gates::settings::{GateSettings, LONG_AGO};
use crate::memory::gate::Limit;
use crate::memory::meter::Meter;
use crate::memory::reservation::{Reservation, ReservationId};
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{NONE, Step};
use crate::testing::faults::{Seeded, armed};

impl Scheduler<'_> {
    /// The starts that a gate's meter allows now.
    pub(crate) fn starts_left(&self, gate: u32) -> Step<u32> {
        let now = self.header.clock.now;
        Ok(self
            .meter_of(gate)?
            .map_or(u32::MAX, |it| it.starts_left(now)))
    }

    /// Gives a gate the meter that its settings ask for.
    pub(crate) fn set_meter(&mut self, gate: u32, settings: &GateSettings) -> Step<()> {
        let now = self.header.clock.now;
        let mut bucket = Bucket::Kept;
        if !self.gate(gate)?.has_meter() {
            let is_paused = settings.paused_until.is_some_and(|until| until > now);
            if settings.rate.is_none() && !is_paused && settings.aging == 0 {
                return self.note_free(gate, true);
            }
            self.make_meter(gate)?;
            bucket = match armed(Seeded::StartFull) {
                true => Bucket::Full,
                false => Bucket::EmptySince(self.header.clock.metered_since),
            };
        }
        if self.begins_full(gate, settings)? {
            bucket = Bucket::Full;
        }
        self.note_free(gate, settings.rate.is_none())?;
        let meter = self.meter_slot(gate)?;
        let meter = self.meters.get_mut(meter)?;
        if settings.rate.is_some() {
            meter.note_rate(now.max(settings.rate_since));
        }
        meter.set_rate(settings.rate, now, bucket);
        meter.paused_until = settings.paused_until.unwrap_or(i64::MIN);
        Ok(())
    }

    fn make_meter(&mut self, gate: u32) -> Step<()> {
        let meter = Meter {
            gate,
            rated_until: LONG_AGO,
            ..Meter::default()
        };
        if self.meters.left() == 0 {
            self.forget_idle_meter()?;
        }
        self.meters.insert(meter, Some(u64::from(gate)))?;
        self.gate_mut(gate)?.set_has_meter();
        Ok(())
    }

    /// What a bucket without a rate forgets is nothing: none of its starts was under one.
    pub(crate) fn forget_meter(&mut self, gate: u32) -> Step<()> {
        let meter = self.meter_slot(gate)?;
        if meter == NONE {
            return Ok(());
        }
        let rated_until = self.meters.get(meter)?.rated_until;
        let clock = &mut self.header.clock;
        if rated_until > LONG_AGO && !armed(Seeded::ForgetForgetting) {
            let last = clock.now.max(rated_until);
            clock.metered_since = clock.metered_since.max(last.saturating_add(1));
        }
        self.stop_timer(meter)?;
        self.meters.remove(meter, Some(u64::from(gate)))
    }

    /// Sets a token aside for a job that is about to start behind a gate. Returns whether there is one to
    /// charge or to return.
    pub(crate) fn reserve_token(&mut self, gate: u32) -> Step<bool> {
        self.header.clock.has_started = true;
        let meter = self.meter_slot(gate)?;
        if meter == NONE || self.meters.get(meter)?.starts == 0 {
            return Ok(false);
        }
        let meter = self.meters.get_mut(meter)?;
        meter.reserved_tokens = meter.reserved_tokens.saturating_add(1);
        self.meter_changed(gate)?;
        Ok(true)
    }

    /// The reserved job is locked: it starts as of the time of its pick.
    pub(crate) fn charge_tokens(&mut self, id: ReservationId, now: i64) -> Step<()> {
        let reservation = *self.reservations.get(id.0)?;
        self.return_tokens(&reservation, |meter| meter.charge(now))?;
        self.reservations.get_mut(id.0)?.metered = 0;
        Ok(())
    }

    /// The tokens of a job are not set aside any more.
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
                meter.reserved_tokens = meter.reserved_tokens.saturating_sub(1);
                use_up(meter);
                self.meter_changed(gate)?;
            }
        }
        Ok(())
    }

    pub(crate) fn meter_changed(&mut self, gate: u32) -> Step<()> {
        let was_open = self.gate_is_open(gate)?;
        self.update_meter(gate)?;
        self.update_nodes_of(gate, was_open)
    }

    /// Closes a gate while its meter lets nothing start, and sets the timer that opens it.
    pub(crate) fn update_meter(&mut self, gate: u32) -> Step<()> {
        let meter = self.meter_slot(gate)?;
        if meter == NONE {
            return Ok(());
        }
        let now = self.header.clock.now;
        let state = self.meters.get_mut(meter)?;
        state.clamp(now);
        let opens_at = state.opens_at();
        let is_known = self.gate(gate)?.limit() != Limit::Unknown;
        let is_throttled = is_known && opens_at.is_none_or(|time| time > now);
        self.gate_mut(gate)?.set_throttled(is_throttled);
        self.stop_timer(meter)?;
        match opens_at {
            Some(time) if is_throttled && !armed(Seeded::ForgetTimer) => {
                self.start_timer(meter, time)
            }
            _ => Ok(()),
        }
    }
}
