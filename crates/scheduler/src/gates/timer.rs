//! Timers of gates that open by themselves: a binary heap of their meters, the earliest first.

use crate::memory::scheduler::Scheduler;
use crate::memory::step::{Fault, NONE, Step};
use crate::testing::faults::{Seeded, armed};

const NO_TIMER: Fault = Fault::Corrupt("a timer is not in its heap");

impl Scheduler<'_> {
    /// The earliest time at which a gate opens by itself.
    pub fn next_timer(&self) -> Option<i64> {
        self.timer_at(1).ok().map(|(_, due)| due)
    }

    /// Time has come to this: gates whose time has come are open from now on.
    pub fn advance(&mut self, now: i64) -> Step<()> {
        if self.header.clock.metered_since == 0 {
            self.header.clock.metered_since = now;
        }
        let was_set_back = now < std::mem::replace(&mut self.header.clock.now, now);
        if was_set_back {
            return self.look_at_all_meters();
        }
        while let Some(due) = self.next_timer() {
            if due > now {
                break;
            }
            let (meter, _) = self.timer_at(1)?;
            self.meter_changed(self.meters.get(meter)?.gate)?;
        }
        Ok(())
    }

    fn look_at_all_meters(&mut self) -> Step<()> {
        for meter in self.meters.touched() {
            let gate = self.meters.get(meter)?.gate;
            if gate != NONE {
                self.meter_changed(gate)?;
            }
        }
        Ok(())
    }

    pub(crate) fn start_timer(&mut self, meter: u32, due: i64) -> Step<()> {
        self.header.clock.timers += 1;
        let last = self.header.clock.timers;
        self.meters.get_mut(meter)?.due = due;
        self.put_timer(last, meter)?;
        self.sift_up(last)
    }

    pub(crate) fn stop_timer(&mut self, meter: u32) -> Step<()> {
        let at = self.meters.get(meter)?.timer;
        if at == NONE {
            return Ok(());
        }
        let last = self.header.clock.timers;
        let (moved, _) = self.timer_at(last)?;
        self.header.clock.timers -= 1;
        self.meters.get_mut(meter)?.timer = NONE;
        if at == last {
            return Ok(());
        }
        self.put_timer(at, moved)?;
        self.sift_up(at)?;
        self.sift_down(at)
    }

    fn timer_at(&self, at: u32) -> Step<(u32, i64)> {
        if at == 0 || at > self.header.clock.timers {
            return Err(NO_TIMER);
        }
        let meter = *self.timers.get(at as usize).ok_or(NO_TIMER)?;
        Ok((meter, self.meters.get(meter)?.due))
    }

    fn put_timer(&mut self, at: u32, meter: u32) -> Step<()> {
        *self.timers.get_mut(at as usize).ok_or(NO_TIMER)? = meter;
        self.meters.get_mut(meter)?.timer = at;
        Ok(())
    }

    fn swap_timers(&mut self, a: u32, b: u32) -> Step<()> {
        let ((meter_a, _), (meter_b, _)) = (self.timer_at(a)?, self.timer_at(b)?);
        self.put_timer(a, meter_b)?;
        self.put_timer(b, meter_a)
    }

    fn sift_up(&mut self, from: u32) -> Step<()> {
        let mut at = from;
        while at > 1 && self.timer_at(at)?.1 < self.timer_at(at / 2)?.1 {
            self.swap_timers(at, at / 2)?;
            at /= 2;
        }
        Ok(())
    }

    fn sift_down(&mut self, from: u32) -> Step<()> {
        let mut at = from;
        loop {
            let mut least = at;
            for child in [2 * at, 2 * at + 1] {
                if child <= self.header.clock.timers
                    && self.timer_at(child)?.1 < self.timer_at(least)?.1
                {
                    least = child;
                }
            }
            if least == at || armed(Seeded::LooseTimers) {
                return Ok(());
            }
            self.swap_timers(at, least)?;
            at = least;
        }
    }

    /// Checks that the heap is in order and holds each meter that waits once.
    pub(crate) fn audit_timers(&self) -> Step<()> {
        for at in 1..=self.header.clock.timers {
            let (meter, due) = self.timer_at(at)?;
            if self.meters.get(meter)?.timer != at {
                return Err(NO_TIMER);
            }
            if at > 1 && self.timer_at(at / 2)?.1 > due {
                return Err(Fault::Corrupt("the timers are out of order"));
            }
        }
        let mut waiting = 0;
        for at in self.gates.touched() {
            let meter = self.meter_of(at)?;
            waiting += u32::from(meter.is_some_and(|it| it.timer != NONE));
        }
        match waiting == self.header.clock.timers {
            true => Ok(()),
            false => Err(NO_TIMER),
        }
    }
}
