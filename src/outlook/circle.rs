//! Jobs that wait for each other, so that none of them starts by itself: through batches, what comes after what, and sessions that are
//! held meanwhile. Which sessions are held is known only when jobs have started, so no call can refuse all of them.

use super::blocker::{Blocker, Circle, Reason};
use super::holders;
use super::job::Waiting;
use crate::pg::call::datum;
use crate::pg::error::Result;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::spi::{Spi, Statement, statement};
use pgrx::pg_sys;
use std::collections::BTreeMap;
use turnstile_scheduler::GateKind;

static AWAITED_BY: Statement = statement!("awaited_by", [INT8OID, BOOLOID]);

/// Steps from the job that is asked about.
const DEEPEST: usize = 100;
/// Jobs that one call looks at.
const MOST: usize = 2_000;

/// What is waited for: the end of a job, or only its turn, for which it does not wait for its children.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    job: i64,
    is_turn: bool,
}

impl Event {
    fn end_of(job: i64) -> Self {
        Self {
            job,
            is_turn: false,
        }
    }
}

/// What was found out for the jobs of one call.
pub struct Search<'a> {
    spi: &'a Spi,
    job_table: pg_sys::Oid,
    /// Where each leads that was looked at.
    known: BTreeMap<Event, Option<Circle>>,
    left: usize,
    /// It was not followed to its end.
    is_cut: bool,
}

impl<'a> Search<'a> {
    pub fn of(spi: &'a Spi, job_table: pg_sys::Oid) -> Self {
        Self {
            spi,
            job_table,
            known: BTreeMap::new(),
            left: MOST,
            is_cut: false,
        }
    }

    /// The circle for which the job waits, which it may be part of, and by which of the reasons that were found it does.
    pub fn behind(&mut self, job: &Waiting, found: &[Blocker]) -> Result<Option<(Reason, Circle)>> {
        if armed(Seeded::OverlookCircles) {
            return Ok(None);
        }
        self.is_cut = false;
        let mut path = vec![Event::end_of(job.id)];
        for event in self.awaited_jobs(job, false)? {
            if let Some(circle) = self.follow(event, &mut path)? {
                return Ok(Some((Reason::Blocked, circle)));
            }
        }
        for blocker in found
            .iter()
            .filter(|blocker| blocker.reason.is_of_session())
        {
            let next = blocker.holder.map(Event::end_of);
            let circle = next.map(|event| self.follow(event, &mut path));
            if let Some(circle) = circle.transpose()?.flatten() {
                return Ok(Some((blocker.reason, circle)));
            }
        }
        Ok(None)
    }

    fn follow(&mut self, event: Event, path: &mut Vec<Event>) -> Result<Option<Circle>> {
        pgrx::check_for_interrupts!();
        if let Some(first) = path.iter().position(|&it| it == event) {
            return Ok(Some(circle_of(path.iter().skip(first))));
        }
        if let Some(known) = self.known.get(&event) {
            return Ok(known.clone());
        }
        if path.len() >= DEEPEST || self.left == 0 {
            self.is_cut = true;
            return Ok(None);
        }
        self.left -= 1;
        path.push(event);
        let found = self.follow_all(event, path)?;
        path.pop();
        if found.is_some() || !self.is_cut {
            self.known.insert(event, found.clone());
        }
        Ok(found)
    }

    /// A job that runs, or has ended, waits for nothing.
    fn follow_all(&mut self, event: Event, path: &mut Vec<Event>) -> Result<Option<Circle>> {
        let Some(job) = Waiting::find(self.spi, event.job)? else {
            return Ok(None);
        };
        let mut events = self.awaited_jobs(&job, event.is_turn)?;
        events.extend(self.awaited_in_session(&job)?);
        for next in events {
            if let Some(circle) = self.follow(next, path)? {
                return Ok(Some(circle));
            }
        }
        Ok(None)
    }

    fn awaited_jobs(&self, job: &Waiting, is_turn: bool) -> Result<Vec<Event>> {
        let arguments = [datum(job.id), datum(is_turn)];
        let rows = self.spi.run(&AWAITED_BY, &arguments)?;
        let event = |row| {
            Ok(Event {
                job: rows.required(row, 1)?,
                is_turn: rows.required(row, 2)?,
            })
        };
        (0..rows.len()).map(event).collect()
    }

    fn awaited_in_session(&self, job: &Waiting) -> Result<impl Iterator<Item = Event>> {
        let [mut holder, mut first] = [None; 2];
        if job.is_available && job.spec.session != 0 {
            holder = holders::of_gate(self.spi, self.job_table, job, GateKind::Session)?;
            first = holders::first_of_session(self.spi, self.job_table, job)?;
        }
        Ok(holder.into_iter().chain(first).map(Event::end_of))
    }
}

fn circle_of<'a>(events: impl Iterator<Item = &'a Event>) -> Circle {
    let mut jobs: Vec<i64> = Vec::new();
    for event in events {
        if !jobs.contains(&event.job) {
            jobs.push(event.job);
        }
    }
    jobs.into()
}
