//! Ageing: a job gains one step of priority for each interval that it waits, if its queue asks for it.
//!
//! How two waiting jobs compare does not change while they wait: both gain their steps at the same times, the
//! multiples of the queue's interval. So a lane's level is its priority plus the interval in which its head began to
//! wait, and nothing is ranked anew as time goes by.
//!
//! A job begins to wait when its position is drawn. When that was is read from a calendar of the database: a few
//! positions, each with the time before which neither it nor a later one was known. A position is as old as the last
//! of them at or before it, so it may count as older than it is, by the distance of two samples at most, and never as
//! younger. The order of positions is that of their dates. A full calendar forgets what lies before all that waits,
//! and of the rest what is close together for its age: only then dates change, and lanes are ranked anew.

use crate::faults::{Seeded, armed};
use crate::{Fault, NONE, Scheduler, Step};

/// Samples within the shortest interval of a queue.
const SAMPLES_AN_INTERVAL: i64 = 16;
/// A full calendar keeps samples that are so small a part of their age apart, or a smaller number if there are too many.
const FINEST_FOR_AGE: i64 = 256;
const MILLISECOND: i64 = 1_000;

/// Positions from here on were not known before that time, in microseconds.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    pub position: i64,
    pub time: i64,
}

impl Scheduler<'_> {
    /// Whether positions are dated: from the first queue on that ages its jobs.
    pub fn has_calendar(&self) -> bool {
        self.header.samples > 0
    }

    /// Begins with what the tables say, in ascending order of positions and times, and the last position in them.
    pub fn begin_calendar(
        &mut self,
        now: i64,
        newest: i64,
        samples: impl IntoIterator<Item = Sample>,
    ) -> Step<()> {
        if self.has_calendar() {
            return Ok(());
        }
        self.header.samples = 0;
        self.header.epoch = now;
        self.header.newest = newest;
        // Each position is sampled until it is known for which interval.
        self.header.sampled_every = 0;
        let mut before = None;
        for Sample { position, time } in samples {
            let time = time.min(now);
            if before.is_none_or(|it: Sample| it.position < position && it.time < time) {
                let sample = Sample { position, time };
                before = Some(sample);
                self.append(sample)?;
            }
        }
        if before.is_none() {
            let position = i64::MIN;
            self.append(Sample {
                position,
                time: now,
            })?;
        }
        Ok(())
    }

    /// A job at the position is known from now on.
    pub fn note_position(&mut self, position: i64, now: i64) -> Step<()> {
        if !self.has_calendar() || position <= self.header.newest {
            return Ok(());
        }
        self.header.newest = position;
        self.sample(position, now)
    }

    /// This was the last position that was drawn: who is behind it was put there by hand, and must not date what
    /// will be drawn.
    pub fn note_last_drawn(&mut self, position: i64) -> Step<()> {
        if !self.has_calendar() || armed(Seeded::TrustAnyPosition) {
            return Ok(());
        }
        self.header.newest = self.header.newest.min(position);
        let known = self.header.samples;
        while self.header.samples > 1 && self.last_sample()?.position > position {
            self.header.samples -= 1;
        }
        match self.header.samples == known {
            true => Ok(()),
            false => self.level_anew(None),
        }
    }

    fn sample(&mut self, position: i64, now: i64) -> Step<()> {
        let last = self.last_sample()?;
        let elapsed = now.saturating_sub(last.time);
        if position <= last.position || elapsed < self.header.sampled_every || elapsed <= 0 {
            return Ok(());
        }
        self.append(Sample {
            position,
            time: now,
        })
    }

    fn append(&mut self, sample: Sample) -> Step<()> {
        if self.header.samples as usize >= self.calendar.len() {
            self.thin()?;
        }
        self.header.samples += 1;
        self.put(self.header.samples, sample)
    }

    /// Sets the sample of a number, from 1.
    fn put(&mut self, number: u32, sample: Sample) -> Step<()> {
        let at = (number as usize).wrapping_sub(1);
        let slot = self.calendar.get_mut(at);
        *slot.ok_or(Fault::Corrupt("the calendar is too short"))? = sample;
        Ok(())
    }

    fn samples(&self) -> &[Sample] {
        let known = self.calendar.get(..self.header.samples as usize);
        known.unwrap_or_default()
    }

    fn last_sample(&self) -> Step<Sample> {
        let last = self.samples().last().copied();
        last.ok_or(Fault::Corrupt("the calendar is empty"))
    }

    /// Makes room: forgets what lies before all that waits, and of the others those that are close to the next for
    /// their age.
    fn thin(&mut self) -> Step<()> {
        let first = self.first_head()?;
        let known = self
            .samples()
            .partition_point(|sample| sample.position <= first);
        self.forget_samples(known.saturating_sub(1));
        let mut finest = FINEST_FOR_AGE;
        while self.header.samples as usize > self.calendar.len() / 2 && finest > 0 {
            finest /= 2;
            self.forget_close_samples(finest);
        }
        match armed(Seeded::KeepOldDates) {
            true => Ok(()),
            false => self.level_anew(None),
        }
    }

    fn forget_samples(&mut self, count: usize) {
        let known = self.samples().len();
        self.calendar.copy_within(count.min(known)..known, 0);
        self.header.samples = known.saturating_sub(count) as u32;
    }

    /// Keeps the last sample and the first, and between them those that are a part of their age before the next.
    fn forget_close_samples(&mut self, parts: i64) {
        let known = self.header.samples as usize;
        let Some(samples) = self.calendar.get_mut(..known) else {
            return;
        };
        let Some(&last) = samples.last() else { return };
        let (mut next, mut gone) = (last, known - 1);
        for at in (0..known - 1).rev() {
            let Some(&sample) = samples.get(at) else {
                return;
            };
            let gap = next.time.saturating_sub(sample.time);
            let age = last.time.saturating_sub(sample.time);
            if at == 0 || gap.saturating_mul(parts) >= age.max(1) {
                gone -= 1;
                next = sample;
                if let Some(slot) = samples.get_mut(gone) {
                    *slot = sample;
                }
            }
        }
        self.forget_samples(gone);
    }

    /// Where the first lane begins, as far as all are known.
    fn first_head(&self) -> Step<i64> {
        let mut first = i64::MAX;
        for lane in self.lanes.touched() {
            if self.is_lane(lane)? {
                first = first.min(self.entry(lane)?.head);
            }
        }
        Ok(match self.has_overflow() {
            true => i64::MIN,
            false => first,
        })
    }

    /// The interval of a queue in microseconds; 0: its jobs do not age.
    fn aging_of(&self, queue: u32) -> Step<i64> {
        let aging = self.aging_behind(self.node(queue)?.gate)?;
        Ok(i64::from(aging) * MILLISECOND)
    }

    /// As [`Self::aging_of`] the queue of a gate, in milliseconds.
    pub(crate) fn aging_behind(&self, gate: u32) -> Step<u32> {
        Ok(self.meter_of(gate)?.map_or(0, |meter| meter.aging))
    }

    /// Has a queue age its jobs from now on, or not any more.
    pub(crate) fn set_aging(&mut self, gate: u32, aging: u32) -> Step<()> {
        if self.aging_behind(gate)? == aging {
            return Ok(());
        }
        let meter = self.meter_slot(gate)?;
        self.meters.get_mut(meter)?.aging = aging;
        if aging > 0 {
            self.begin_calendar(self.header.now, i64::MIN, [])?;
            let every = i64::from(aging) * MILLISECOND / SAMPLES_AN_INTERVAL;
            self.header.sampled_every = match self.header.sampled_every {
                0 => every,
                known => known.min(every),
            };
        }
        match self.gate(gate)?.first_node() {
            NONE => Ok(()),
            _ if armed(Seeded::KeepOldLevels) => Ok(()),
            queue => self.level_anew(Some(queue)),
        }
    }

    /// The interval of a queue has changed, or the dates of all.
    fn level_anew(&mut self, queue: Option<u32>) -> Step<()> {
        for lane in self.lanes.touched() {
            if !self.is_lane(lane)? {
                continue;
            }
            let is_meant = match queue {
                Some(queue) => self.queue_of(lane)? == queue,
                None => true,
            };
            if is_meant {
                let entry = self.entry(lane)?;
                self.move_head(lane, entry.head, entry.is_exact())?;
            }
        }
        Ok(())
    }

    /// When a position began to wait.
    pub fn dated(&self, position: i64) -> i64 {
        let samples = self.samples();
        let behind = samples.partition_point(|sample| sample.position <= position);
        let sample = samples.get(behind.saturating_sub(1));
        sample.map_or(self.header.epoch, |sample| sample.time)
    }

    /// How far apart samples are at least.
    pub fn sampled_every(&self) -> i64 {
        self.header.sampled_every
    }

    /// Which of the intervals since the calendar began a time lies in.
    fn interval_of(&self, time: i64, aging: i64) -> i32 {
        let interval = time.saturating_sub(self.header.epoch).div_euclid(aging);
        i32::try_from(interval).unwrap_or(if interval < 0 { i32::MIN } else { i32::MAX })
    }

    /// The least comes first: where nothing ages that is the priority.
    pub(crate) fn level_in(&self, queue: u32, priority: i32, position: i64) -> Step<i32> {
        if !self.has_calendar() {
            return Ok(priority);
        }
        match self.aging_of(queue)? {
            0 => Ok(priority),
            _ if armed(Seeded::NeverAge) => Ok(priority),
            aging => {
                let interval = self.interval_of(self.dated(position), aging);
                Ok(priority.saturating_add(interval))
            }
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

    /// The level at which a job of priority 0 begins to wait now: levels of different queues compare by how far
    /// they are from it.
    pub(crate) fn level_now(&self, queue: u32) -> Step<i32> {
        if !self.has_calendar() || armed(Seeded::CompareOtherClocks) {
            return Ok(0);
        }
        Ok(match self.aging_of(queue)? {
            0 => 0,
            aging => self.interval_of(self.header.now, aging),
        })
    }

    /// The first position of a lane that may have a level, or a greater one.
    pub(crate) fn first_at_level(&self, lane: u32, queue: u32, level: i64) -> Step<i64> {
        let steps = level - i64::from(self.lane(lane)?.priority);
        let aging = match self.has_calendar() {
            true => self.aging_of(queue)?,
            false => 0,
        };
        if aging == 0 {
            return Ok(if steps > 0 { i64::MAX } else { i64::MIN });
        }
        let time = self
            .header
            .epoch
            .saturating_add(steps.saturating_mul(aging));
        let samples = self.samples();
        Ok(match samples.partition_point(|sample| sample.time < time) {
            0 => i64::MIN,
            at => samples.get(at).map_or(i64::MAX, |sample| sample.position),
        })
    }

    /// Whether the queue of a lane ages its jobs.
    pub(crate) fn ages(&self, queue: u32) -> Step<bool> {
        Ok(self.has_calendar() && self.aging_of(queue)? > 0)
    }

    /// The level of a job of a queue.
    pub fn level(&self, queue: u64, priority: i32, position: i64) -> Step<i32> {
        match self.find_queue(queue)? {
            Some(queue) => self.level_in(queue, priority, position),
            None => Ok(priority),
        }
    }

    /// From when intervals are counted.
    pub fn epoch(&self) -> i64 {
        self.header.epoch
    }

    /// Checks that samples ascend, and that no lane waits behind its place.
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
                // Behind the last position that was known a head may have had an earlier date.
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
