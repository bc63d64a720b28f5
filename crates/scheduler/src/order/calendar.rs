//! Aging: a job gains one step of priority for each interval that it waits, if the settings of its queue say so.
//!
//! How two waiting jobs compare does not change while they wait, because both gain their steps at the same times, the
//! multiples of the queue's interval. So a lane's level is its priority plus the number of the interval in which its head
//! began to wait, and nothing has to be ranked again as time goes by.
//!
//! A job begins to wait when its position is drawn. The calendar tells when that was. It is a list of a few positions, each
//! with a time before which neither it nor a later position was known. A position is as old as the last sample at or
//! before it. So a position may count as older than it is, by at most the distance of two samples, and never as younger.
//! The order of positions is the order of their dates. See `gates::aging` for how the calendar is kept.

use crate::memory::gate::GateKind;
use crate::memory::sample::Sample;
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{Fault, Step};
use crate::testing::faults::{Seeded, armed};

pub(crate) const MILLISECOND: i64 = 1_000;

impl Scheduler<'_> {
    /// Whether positions have dates. They do from the first time that a queue has jobs that age.
    pub fn has_calendar(&self) -> bool {
        self.header.calendar.samples > 0
    }

    pub(crate) fn samples(&self) -> &[Sample] {
        let known = self.calendar.get(..self.header.calendar.samples as usize);
        known.unwrap_or_default()
    }

    pub(crate) fn last_sample(&self) -> Step<Sample> {
        let last = self.samples().last().copied();
        last.ok_or(Fault::Corrupt("the calendar is empty"))
    }

    /// When the job at a position began to wait.
    pub fn date_of(&self, position: i64) -> i64 {
        let samples = self.samples();
        let behind = samples.partition_point(|sample| sample.position <= position);
        let sample = samples.get(behind.saturating_sub(1));
        sample.map_or(self.header.calendar.epoch, |sample| sample.time)
    }

    /// The time from which intervals are counted.
    pub fn epoch(&self) -> i64 {
        self.header.calendar.epoch
    }

    /// How far apart samples are at least.
    pub fn sample_interval(&self) -> i64 {
        self.header.calendar.sample_interval
    }

    /// The interval of a queue in microseconds; 0: its jobs do not age.
    fn aging_of(&self, queue: u32) -> Step<i64> {
        if !self.has_calendar() {
            return Ok(0);
        }
        let aging = self.aging_behind(self.node(queue)?.gate)?;
        Ok(i64::from(aging) * MILLISECOND)
    }

    /// The same for the queue of a gate, in milliseconds.
    pub(crate) fn aging_behind(&self, gate: u32) -> Step<u32> {
        Ok(self.meter_of(gate)?.map_or(0, |meter| meter.aging))
    }

    /// Whether the queue of a lane ages its jobs.
    pub(crate) fn ages(&self, queue: u32) -> Step<bool> {
        Ok(self.aging_of(queue)? > 0)
    }

    /// The number of the interval in which a time lies, counted from the begin of the calendar.
    fn interval_of(&self, time: i64, aging: i64) -> i32 {
        let interval = time
            .saturating_sub(self.header.calendar.epoch)
            .div_euclid(aging);
        i32::try_from(interval).unwrap_or(if interval < 0 { i32::MIN } else { i32::MAX })
    }

    /// The least level comes first. Where jobs do not age, it is the priority.
    pub(crate) fn level_in(&self, queue: u32, priority: i32, position: i64) -> Step<i32> {
        Ok(self.level_with(self.aging_of(queue)?, priority, position))
    }

    fn level_with(&self, aging: i64, priority: i32, position: i64) -> i32 {
        match aging {
            0 => priority,
            _ if armed(Seeded::NeverAge) => priority,
            aging => priority.saturating_add(self.interval_of(self.date_of(position), aging)),
        }
    }

    /// The level that a lane has with its head at a position.
    pub(crate) fn level_at(&self, lane: u32, position: i64) -> Step<i32> {
        if !self.has_calendar() {
            return Ok(self.entry(lane)?.level);
        }
        let priority = self.lane(lane)?.priority;
        self.level_in(self.queue_of(lane)?, priority, position)
    }

    /// The level at which a job of priority 0 begins to wait now. Levels of different queues are compared by
    /// their distance from it.
    pub(crate) fn level_now(&self, queue: u32) -> Step<i32> {
        Ok(match self.aging_of(queue)? {
            0 => 0,
            _ if armed(Seeded::CompareOtherClocks) => 0,
            aging => self.interval_of(self.header.clock.now, aging),
        })
    }

    /// The first position of a lane that may have this level or a greater one.
    pub(crate) fn first_at_level(&self, lane: u32, queue: u32, level: i64) -> Step<i64> {
        self.first_with_priority(self.lane(lane)?.priority, queue, level)
    }

    /// The same of lanes with a priority.
    pub(crate) fn first_with_priority(&self, priority: i32, queue: u32, level: i64) -> Step<i64> {
        let steps = level - i64::from(priority);
        let aging = self.aging_of(queue)?;
        if aging == 0 {
            return Ok(if steps > 0 { i64::MAX } else { i64::MIN });
        }
        let time = self
            .header
            .calendar
            .epoch
            .saturating_add(steps.saturating_mul(aging));
        let samples = self.samples();
        Ok(match samples.partition_point(|sample| sample.time < time) {
            0 => i64::MIN,
            at => samples.get(at).map_or(i64::MAX, |sample| sample.position),
        })
    }

    /// The level of a job of a queue, of which there may be no lane in memory.
    pub fn level(&self, queue: u64, priority: i32, position: i64) -> Step<i32> {
        let aging = match self.find_gate(GateKind::Queue, queue)? {
            Some(gate) => self.aging_behind(gate)?,
            None => 0,
        };
        Ok(self.level_with(i64::from(aging) * MILLISECOND, priority, position))
    }

    /// Checks that samples ascend, and that no lane has a greater level than its head.
    pub(crate) fn audit_levels(&self) -> Step<()> {
        let ascends = |pair: &[Sample]| match pair {
            [a, b] => a.position < b.position && a.time < b.time,
            _ => false,
        };
        if !self.samples().windows(2).all(ascends) {
            return Err(Fault::Corrupt("the calendar is out of order"));
        }
        for lane in self.lanes.touched() {
            if !self.is_lane(lane)? {
                continue;
            }
            let entry = self.entry(lane)?;
            let priority = self.lane(lane)?.priority;
            let level = self.level_in(self.queue_of(lane)?, priority, entry.head)?;
            let is_right = match self.has_calendar() {
                // A head after the last known position may have had an earlier date.
                true => entry.level <= level,
                false => entry.level == level,
            };
            if !is_right {
                return Err(Fault::Corrupt("a lane's level is not its head's"));
            }
        }
        Ok(())
    }
}
