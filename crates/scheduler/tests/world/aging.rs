//! When jobs began to wait, as the design says it, and what level that gives a lane.

use turnstile_scheduler::{GateKind, LaneSpec, LaneView, Sample, Scheduler};

use super::arena::At;
use super::known::Known;
use super::table::{Row, State};
use super::{Checked, World};

/// A position that became known.
struct Heard {
    position: i64,
    time: i64,
    /// Later positions are dated no earlier.
    followed_from: i64,
}

impl Heard {
    /// When the calendar began: later positions are no older.
    fn at_first(position: i64, time: i64) -> Self {
        Self {
            position,
            time,
            followed_from: time,
        }
    }
}

#[derive(Default)]
pub struct Dates {
    /// From when intervals are counted.
    epoch: i64,
    /// Each position that was greater than all that were known.
    heard: Vec<Heard>,
    /// No later one is known.
    newest: i64,
}

impl Dates {
    /// A job became available, as the server tells it.
    pub fn lower(
        &mut self,
        scheduler: &mut Scheduler,
        spec: &LaneSpec,
        position: i64,
        now: i64,
    ) -> Checked {
        if scheduler.has_calendar() {
            if position > self.newest {
                self.newest = position;
                self.heard.push(Heard {
                    position,
                    time: now,
                    followed_from: now - scheduler.sample_interval(),
                });
            }
            scheduler.note_position(position, now).at("note_position")?;
        }
        scheduler.lower(spec, position).at("lower")
    }
}

impl World {
    /// The first queue is about to age its jobs: those that wait are as old as their positions.
    pub fn begin_dates(&mut self) -> Checked {
        if self.arena.scheduler().has_calendar() {
            return Ok(());
        }
        let rows = self.table.jobs.iter().map(|job| job.row);
        let mut positions: Vec<i64> = rows
            .filter(Row::is_available)
            .map(|row| row.position)
            .collect();
        positions.sort_unstable();
        let drawn = &self.table.drawn;
        let date = |position| {
            let behind = drawn.partition_point(|&(drawn, _)| drawn <= position);
            drawn[behind.saturating_sub(1)].1
        };
        let newest = positions.last().copied().unwrap_or(i64::MIN);
        let mut samples: Vec<Sample> = positions
            .into_iter()
            .map(|position| Sample {
                position,
                time: date(position),
            })
            .collect();
        samples.dedup_by_key(|sample| sample.time);
        let mut heard: Vec<_> = samples
            .iter()
            .map(|sample| Heard::at_first(sample.position, sample.time))
            .collect();
        if heard.is_empty() {
            heard.push(Heard::at_first(i64::MIN, self.clock.now));
        }
        self.dates = Dates {
            epoch: self.clock.now,
            newest,
            heard,
        };
        self.tally.count("calendar begun from the table");
        let mut scheduler = self.arena.scheduler();
        scheduler
            .begin_calendar(self.clock.now, newest, samples)
            .at("begin_calendar")
    }

    pub fn forget_dates(&mut self) {
        self.dates = Dates::default();
    }

    /// Now and then the server looks how far the sequence is.
    pub fn look_at_sequence(&mut self) -> Checked {
        let last = self.table.last_drawn();
        self.dates.heard.retain(|it| it.position <= last);
        self.dates.newest = last.min(self.dates.newest);
        let mut scheduler = self.arena.scheduler();
        scheduler.note_last_drawn(last).at("note_last_drawn")
    }

    /// What lies behind all that was drawn keeps the date of when it came, which its position does not tell.
    pub fn has_far_positions(&self) -> bool {
        let last = self.table.last_drawn();
        let mut jobs = self.table.jobs.iter();
        jobs.any(|job| job.row.state != State::Absent && job.row.position > last)
    }

    /// The level of a row by the settings in the table, and the one that a job of priority 0 would get now in its queue.
    /// Memory may know neither the settings nor, before it has read them, the dates.
    pub fn levels(&mut self, row: &Row) -> Checked<(i32, i32)> {
        let settings = self.effective_settings(GateKind::Queue, row.spec.queue);
        let aging = 1_000 * i64::from(settings.aging);
        if aging > 0 && row.is_available() {
            self.begin_dates()?;
        }
        let level = self.level(row, aging)?;
        let now = self.clock.now;
        Ok((level, level_now(&self.arena.scheduler(), aging, now)))
    }

    /// The level of a row in a queue with an interval, in microseconds.
    pub fn level(&mut self, row: &Row, aging: i64) -> Checked<i32> {
        if aging == 0 {
            return Ok(row.spec.priority);
        }
        if let Some(level) = self.level_of_far_head(row)? {
            return Ok(level);
        }
        let scheduler = self.arena.scheduler();
        let date = scheduler.date_of(row.position);
        Ok(row.spec.priority + level_now(&scheduler, aging, date))
    }

    /// Only its lane knows when a row came whose position was not drawn.
    fn level_of_far_head(&mut self, row: &Row) -> Checked<Option<i32>> {
        if row.position <= self.table.last_drawn() {
            return Ok(None);
        }
        let known = Known::read(&mut self.arena, self.clock.now, &[], Vec::new())?;
        let mut lanes = known.lanes.iter();
        let lane = lanes.find(|it| (it.spec.lane, it.head) == (row.spec.lane, row.position));
        Ok(lane.map(|lane| lane.level))
    }

    /// A lane's level is its priority and the interval in which its head was drawn.
    pub fn check_levels(&mut self, known: &Known) -> Checked {
        for lane in &known.lanes {
            let aging = known.aging(lane.spec.queue);
            if aging == 0 {
                if lane.level != lane.spec.priority {
                    return Err(format!("{lane:?} does not age"));
                }
                continue;
            }
            let scheduler = self.arena.scheduler();
            let level = scheduler
                .level(lane.spec.queue, lane.spec.priority, lane.head)
                .at("level")?;
            if lane.level > level {
                return Err(format!("{lane:?} was dated later than it is: {level}"));
            }
            let is_thinned = self.arena.capacity.samples < 1_000;
            let is_far = lane.head > self.table.last_drawn();
            // It was found in the table before its commit was announced.
            let mut open = self.transactions.iter();
            let is_unheard = open.any(|it| it.owes_lowering(lane.spec.lane, lane.head));
            if !is_thinned && !is_far && !is_unheard {
                self.check_level(lane, aging)?;
            }
        }
        Ok(())
    }

    /// It is known by when a position was drawn, and after which other.
    fn check_level(&self, lane: &LaneView, aging: i64) -> Checked {
        let heard = &self.dates.heard;
        let at = heard.partition_point(|it| it.position < lane.head);
        let latest = heard.get(at).map_or(self.clock.now, |it| it.time);
        let earliest = match at {
            0 => heard.first().map_or(latest, |it| it.time),
            at => heard[at - 1].followed_from,
        };
        let level = |time: i64| {
            let interval = (time - self.dates.epoch).div_euclid(aging);
            i64::from(lane.spec.priority) + interval
        };
        let right = level(earliest)..=level(latest);
        match right.contains(&i64::from(lane.level)) {
            true => Ok(()),
            false => Err(format!("{lane:?} should have a level of {right:?}")),
        }
    }
}

/// The level at which a job of priority 0 begins to wait at a time.
pub fn level_now(scheduler: &Scheduler, aging: i64, now: i64) -> i32 {
    match aging {
        0 => 0,
        aging => (now - scheduler.epoch()).div_euclid(aging) as i32,
    }
}
