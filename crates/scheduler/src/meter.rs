//! When a gate may let the next job start, apart from how many run: rates, and pauses that end by themselves.
//! And, beside them, what a queue says of ageing: few gates have any of these.
//!
//! A rate is a token bucket, kept as the time at which it will be full again: each start moves that time on by
//! `per / starts`, and a start needs it to be less than the whole bucket ahead. The fraction of a microsecond is
//! kept too, so nothing drifts. A start is charged at the time of its pick, once the job is locked, and until then
//! its token is put by: so a token that turns out not to be needed is as if it had never been taken, and a job
//! whose claim aborts later has started and stays charged.
//!
//! Nothing is known of the starts before the memory was made, so a bucket is empty then. It fills from that time
//! on, also before its gate is first met: all starts since are on record.

use crate::faults::{Seeded, armed};
use crate::index::Slot;
use crate::{Fault, Limit, NONE, Rate, Reservation, ReservationId, Scheduler, Step, Terms};

/// The clockwork of one gate.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Meter {
    /// When the bucket is full again, and the fraction of a microsecond on top in units of `1 / starts`.
    full_at: i64,
    per: i64,
    paused_until: i64,
    /// When the gate is to be looked at again, while it has a place among the timers.
    pub(crate) due: i64,
    fraction: u32,
    /// 0: no rate.
    starts: u32,
    burst: u32,
    /// Tokens put by for jobs that are not locked yet.
    put_by: u32,
    pub(crate) gate: u32,
    /// The place among the timers; 0: none.
    pub(crate) timer: u32,
    index_next: u32,
    /// Of a queue: how long a job waits for a step of priority, in milliseconds; 0: for ever.
    pub(crate) aging: u32,
}

impl Slot for Meter {
    fn next(&self) -> u32 {
        self.index_next
    }
    fn set_next(&mut self, next: u32) {
        self.index_next = next;
    }
}

impl Meter {
    pub fn rate(&self) -> Option<Rate> {
        (self.starts > 0).then_some(Rate {
            starts: self.starts,
            burst: self.burst,
            per: self.per,
        })
    }

    /// Starts that the gate's rate and pause allow at a time.
    pub fn starts_left(&self, now: i64) -> u32 {
        match self.is_paused(now) {
            true => 0,
            false => self.tokens(now).saturating_sub(self.put_by),
        }
    }

    fn tokens(&self, now: i64) -> u32 {
        if self.starts == 0 {
            return u32::MAX;
        }
        let missing = i128::from(self.full_at) - i128::from(now);
        let missing = missing * i128::from(self.starts) + i128::from(self.fraction);
        let whole = i128::from(self.burst) * i128::from(self.per);
        let left = (whole - missing.max(0)) / i128::from(self.per);
        u32::try_from(left.max(0)).unwrap_or(u32::MAX)
    }

    /// Tokens put by for jobs that are not locked yet.
    pub fn put_by(&self) -> u32 {
        self.put_by
    }

    pub fn is_paused(&self, now: i64) -> bool {
        self.paused_until > now
    }

    /// When the pause ends; in the past if there is none.
    pub fn paused_until(&self) -> i64 {
        self.paused_until
    }

    /// Never more than the whole bucket is missing, unless the clock was set back.
    fn bound_by(&mut self, now: i64) {
        let whole = i128::from(self.burst) * i128::from(self.per);
        let missing = (i128::from(self.full_at) - i128::from(now)) * i128::from(self.starts);
        if self.starts > 0 && missing > whole {
            (self.full_at, self.fraction) = (now, 0);
            self.put_off(self.burst);
        }
    }

    /// The time from which a start is allowed; none: not before some token is given back or used.
    fn opens_at(&self) -> Option<i64> {
        if self.starts == 0 {
            return Some(self.paused_until);
        }
        let spare = i128::from(self.burst) - i128::from(self.put_by) - 1;
        if spare < 0 {
            return None;
        }
        let ahead = (spare * i128::from(self.per) - i128::from(self.fraction))
            .div_euclid(i128::from(self.starts));
        let time = i128::from(self.full_at) - ahead;
        Some(
            i64::try_from(time)
                .unwrap_or(i64::MAX)
                .max(self.paused_until),
        )
    }

    fn charge(&mut self, now: i64) {
        if self.starts == 0 || armed(Seeded::StartFreeOfCharge) {
            return;
        }
        if self.full_at < now {
            (self.full_at, self.fraction) = (now, 0);
        }
        self.put_off(1);
    }

    /// Moves the time at which the bucket is full on by so many tokens.
    fn put_off(&mut self, tokens: u32) {
        let ticks = i128::from(tokens) * i128::from(self.per) + i128::from(self.fraction);
        let starts = i128::from(self.starts.max(1));
        let time = i128::from(self.full_at) + ticks / starts;
        self.full_at = i64::try_from(time).unwrap_or(i64::MAX);
        self.fraction = u32::try_from(ticks % starts).unwrap_or(0);
    }

    /// Another rate brings no tokens of its own.
    fn set_rate(&mut self, rate: Option<Rate>, now: i64, empty_since: Option<i64>) {
        let rate = rate.filter(|rate| rate.starts > 0 && rate.per > 0);
        if rate == self.rate() && empty_since.is_none() {
            return;
        }
        let tokens = match self.starts {
            0 => 0,
            _ if armed(Seeded::RefillOnChange) => u32::MAX,
            _ => self.tokens(now),
        };
        let rate = rate.unwrap_or(Rate {
            starts: 0,
            burst: 0,
            per: 0,
        });
        (self.starts, self.burst, self.per) = (rate.starts, rate.burst, rate.per);
        (self.full_at, self.fraction) = (empty_since.unwrap_or(now), 0);
        self.put_off(self.burst.saturating_sub(tokens));
    }
}

impl Scheduler<'_> {
    /// The slot of a gate's clockwork, found by the gate's own: only gates that have one pay for it.
    pub(crate) fn meter_slot(&self, gate: u32) -> Step<u32> {
        if !self.gate(gate)?.has_meter() {
            return Ok(NONE);
        }
        let found = self.meters.find(u64::from(gate), |_, it| it.gate == gate)?;
        found.ok_or(Fault::Corrupt("a gate's clockwork is gone"))
    }

    pub(crate) fn meter_of(&self, gate: u32) -> Step<Option<&Meter>> {
        match self.meter_slot(gate)? {
            NONE => Ok(None),
            meter => self.meters.get(meter).map(Some),
        }
    }

    /// Starts that a gate's clockwork allows now.
    pub(crate) fn starts_left(&self, gate: u32) -> Step<u32> {
        let now = self.header.now;
        Ok(self
            .meter_of(gate)?
            .map_or(u32::MAX, |it| it.starts_left(now)))
    }

    /// Gives a gate the clockwork that its terms ask for.
    pub(crate) fn set_meter(&mut self, gate: u32, terms: &Terms) -> Step<()> {
        let now = self.header.now;
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
                false => self.header.metered_since,
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
        self.header.metered_since = self.header.metered_since.max(self.header.now);
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
        let now = self.header.now;
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
