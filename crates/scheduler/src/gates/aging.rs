//! Keeps the calendar by which jobs age (see `order::calendar`).
//!
//! A full calendar forgets the samples before everything that waits. Of the others it forgets those that are close
//! together for their age. Only then do dates change, and lanes are ranked again.

use crate::memory::sample::Sample;
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{Fault, NONE, Step};
use crate::order::calendar::MILLISECOND;
use crate::testing::faults::{Seeded, armed};

/// Samples in the shortest interval of a queue.
const SAMPLES_AN_INTERVAL: i64 = 16;

/// When a full calendar is thinned, samples may be as close as this part of their age; then half of it, and
/// so on, until there are few enough.
const MAX_PARTS_OF_AGE: i64 = 256;

impl Scheduler<'_> {
    /// Sets how fast the jobs of a queue age.
    pub(crate) fn set_aging(&mut self, gate: u32, aging: u32) -> Step<()> {
        if self.aging_behind(gate)? == aging {
            return Ok(());
        }
        let meter = self.meter_slot(gate)?;
        self.meters.get_mut(meter)?.aging = aging;
        if aging > 0 {
            self.begin_calendar(self.header.clock.now, i64::MIN, [])?;
            let every = i64::from(aging) * MILLISECOND / SAMPLES_AN_INTERVAL;
            self.header.calendar.sample_interval = match self.header.calendar.sample_interval {
                0 => every,
                known => known.min(every),
            };
        }
        match self.gate(gate)?.first_node() {
            NONE => Ok(()),
            _ if armed(Seeded::KeepOldLevels) => Ok(()),
            queue => self.recompute_levels_of(queue),
        }
    }

    /// Begins a calendar with samples from the tables, in ascending order of positions and times, and the
    /// last position in the tables.
    pub fn begin_calendar(
        &mut self,
        now: i64,
        newest: i64,
        samples: impl IntoIterator<Item = Sample>,
    ) -> Step<()> {
        if self.has_calendar() {
            return Ok(());
        }
        self.header.calendar.samples = 0;
        self.header.calendar.epoch = now;
        self.header.calendar.newest = newest;
        // Each position is sampled until an interval is set.
        self.header.calendar.sample_interval = 0;
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
        if !self.has_calendar() || position <= self.header.calendar.newest {
            return Ok(());
        }
        self.header.calendar.newest = position;
        self.sample(position, now)
    }

    /// This was the last position that was drawn. A later one was set by hand, and must not date positions
    /// that are drawn in the future.
    pub fn note_last_drawn(&mut self, position: i64) -> Step<()> {
        if !self.has_calendar() || armed(Seeded::TrustAnyPosition) {
            return Ok(());
        }
        self.header.calendar.newest = self.header.calendar.newest.min(position);
        let known = self.header.calendar.samples;
        while self.header.calendar.samples > 1 && self.last_sample()?.position > position {
            self.header.calendar.samples -= 1;
        }
        match self.header.calendar.samples == known {
            true => Ok(()),
            false => self.recompute_levels(),
        }
    }

    fn sample(&mut self, position: i64, now: i64) -> Step<()> {
        let last = self.last_sample()?;
        let elapsed = now.saturating_sub(last.time);
        if position <= last.position
            || elapsed < self.header.calendar.sample_interval
            || elapsed <= 0
        {
            return Ok(());
        }
        self.append(Sample {
            position,
            time: now,
        })
    }

    fn append(&mut self, sample: Sample) -> Step<()> {
        if self.header.calendar.samples as usize >= self.calendar.len() {
            self.thin()?;
        }
        self.header.calendar.samples += 1;
        self.put(self.header.calendar.samples, sample)
    }

    /// Sets the sample with this number, from 1 on.
    fn put(&mut self, number: u32, sample: Sample) -> Step<()> {
        let at = (number as usize).wrapping_sub(1);
        let slot = self.calendar.get_mut(at);
        *slot.ok_or(Fault::Corrupt("the calendar is too short"))? = sample;
        Ok(())
    }

    /// Makes room: forgets the samples before all that waits, and of the others those that are close to the
    /// next one for their age.
    fn thin(&mut self) -> Step<()> {
        let first = self.first_head()?;
        let known = self
            .samples()
            .partition_point(|sample| sample.position <= first);
        self.forget_samples(known.saturating_sub(1));
        let mut finest = MAX_PARTS_OF_AGE;
        while self.header.calendar.samples as usize > self.calendar.len() / 2 && finest > 0 {
            finest /= 2;
            self.forget_close_samples(finest);
        }
        match armed(Seeded::KeepOldDates) {
            true => Ok(()),
            false => self.recompute_levels(),
        }
    }

    fn forget_samples(&mut self, count: usize) {
        let known = self.samples().len();
        self.calendar.copy_within(count.min(known)..known, 0);
        self.header.calendar.samples = known.saturating_sub(count) as u32;
    }

    /// Keeps the last sample and the first, and between them each that is at least this part of its age
    /// before the next.
    fn forget_close_samples(&mut self, parts: i64) {
        let known = self.header.calendar.samples as usize;
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

    /// The least head of all lanes, or the least position of all if some lanes are missing.
    fn first_head(&self) -> Step<i64> {
        let mut first = i64::MAX;
        for lane in self.lanes.touched() {
            if self.is_lane(lane)? {
                first = first.min(self.entry(lane)?.head);
            }
        }
        Ok(match self.has_lanes_outside() {
            true => i64::MIN,
            false => first,
        })
    }
}
