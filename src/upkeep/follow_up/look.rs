//! One look after some jobs that wait for others, or that others wait for: the statements, in their order.

use crate::job::state::{self, End, State};
use crate::pg::call::datum;
use crate::pg::error::{Result, cancelled_by_trigger};
use crate::pg::spi::{Rows, Spi, Statement, statement};
use crate::runs::end_waiting::end_waiting;
use crate::runs::ending::{Ending, end_locked};
use crate::shmem;
use crate::transaction::pending::{self, Work};
use crate::upkeep::follow_up::outcome::{Meeting, Telling};
use crate::upkeep::unfinished::Unfinished;
use pgrx::pg_sys::{self, Datum};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use turnstile_scheduler::LaneSpec;

static TELL: Statement = statement!("tell_predecessors", [INT8ARRAYOID, INT8OID]);
static MEET: Statement = statement!("meet_dependencies", [INT8ARRAYOID, INT8OID, INT8OID]);
static LOCK: Statement = statement!("lock_blocked", [INT8ARRAYOID]);
static DECIDE: Statement = statement!("decide_blocked", [INT8ARRAYOID]);
static END_BLOCK: Statement = statement!("end_block", [INT8ARRAYOID, TEXTARRAYOID, TEXTARRAYOID]);
static OPEN_LEFT: Statement = statement!("open_left_batches", [INT8ARRAYOID]);
static CHILDREN: Statement = statement!("blocked_children", [INT8ARRAYOID, INT8OID]);
static FAIL: Statement = statement!("fail_batches", [INT8ARRAYOID]);
static TO_STOP: Statement = statement!("children_to_stop", [INT8ARRAYOID, INT8OID]);
static REPRIORITIZE: Statement = statement!("reprioritize_children", [INT8ARRAYOID, INT8OID]);
static UNFINISHED: Statement = statement!("unfinished_batches", [INT8ARRAYOID]);

/// What a look may run after it has locked jobs.
static LATER: [&Statement; 8] = [
    &TELL,
    &MEET,
    &LOCK,
    &DECIDE,
    &END_BLOCK,
    &TO_STOP,
    &REPRIORITIZE,
    &UNFINISHED,
];

thread_local! {
    static IS_PLANNED: Cell<bool> = const { Cell::new(false) };
}

/// Jobs that come one after the other, of which one transaction discards one after the other.
const LINKS: usize = 50;
/// Dependencies, or children, of each job that a look takes at least.
const LEAST_SHARE: i64 = 4;

/// Stops batches of which too many children have failed. A claim that does so starts none of their jobs, although it goes by settings
/// that are committed. Returns those that must not end before another transaction lets them be stopped.
pub fn fail(spi: &Spi, batches: Option<&[i64]>) -> Result<Vec<i64>> {
    let rows = spi.run(&FAIL, &[batches.and_then(datum)])?;
    let mut undecided = Vec::new();
    for row in 0..rows.len() {
        match rows.required(row, 2)? {
            true => pending::with(|pending| pending.must_not_claim = true),
            false => undecided.push(rows.required(row, 1)?),
        }
    }
    Ok(undecided)
}

/// One look after some jobs.
pub struct Look<'s> {
    spi: &'s Spi,
    job_table: pg_sys::Oid,
    chunk: i64,
    pub left: Unfinished,
    /// Jobs of which there is more than one look takes.
    unfinished: Vec<i64>,
    /// Something was changed, so another look finds less.
    leads_on: bool,
    /// What becomes available is so for this transaction alone.
    pub is_own: bool,
}

impl<'s> Look<'s> {
    pub fn new(spi: &'s Spi, job_table: pg_sys::Oid, chunk: i64) -> Self {
        Self {
            spi,
            job_table,
            chunk,
            left: Unfinished::default(),
            unfinished: Vec::new(),
            leads_on: false,
            is_own: false,
        }
    }

    pub fn at(&mut self, jobs: &[i64]) -> Result<()> {
        if jobs.is_empty() {
            return Ok(());
        }
        // To plan takes longer than all else, and claims pass over what is locked.
        if !IS_PLANNED.replace(true) {
            self.spi.plan(&LATER)?;
        }
        self.open_left(jobs)?;
        let jobs = &self.with_blocked_children(jobs)?;
        self.tell_predecessors(jobs)?;
        let followers = self.meet_all_dependencies(jobs)?;
        let undecided = self.see_to_children(jobs)?;
        let mut blocked = jobs.to_vec();
        blocked.extend(followers);
        blocked.retain(|job| !undecided.contains(job));
        blocked.sort_unstable();
        blocked.dedup();
        self.decide(&blocked)?;
        // At once, unless all of it is locked by others.
        let again = match self.leads_on {
            true => &mut self.left.now,
            false => &mut self.left.later,
        };
        again.append(&mut self.unfinished);
        Ok(())
    }

    /// How much of each of some jobs a look takes: one that has much keeps no others waiting.
    fn share(&self, jobs: &[i64]) -> i64 {
        let jobs = i64::try_from(jobs.len()).unwrap_or(i64::MAX);
        self.chunk.checked_div(jobs).unwrap_or(0).max(LEAST_SHARE)
    }

    /// Jobs of which as much was found as was asked for are looked at again.
    fn note_unfinished(&mut self, found: &BTreeMap<i64, i64>, share: i64) {
        let full = found.iter().filter(|&(_, &count)| count >= share);
        self.unfinished.extend(full.map(|(&job, _)| job));
    }

    /// Opens the batches whose parents are gone.
    fn open_left(&mut self, jobs: &[i64]) -> Result<()> {
        let rows = self.spi.run(&OPEN_LEFT, &[datum(jobs)])?;
        for row in 0..rows.len() {
            if rows.value(row, 2) != Some(true) {
                self.left.later.push(rows.required(row, 1)?);
            }
        }
        Ok(())
    }

    /// Children that may have waited for their batch to be opened.
    fn with_blocked_children(&mut self, jobs: &[i64]) -> Result<Vec<i64>> {
        let share = self.share(jobs);
        let rows = self.spi.run(&CHILDREN, &[datum(jobs), datum(share)])?;
        let mut all = jobs.to_vec();
        let mut found = BTreeMap::new();
        for row in 0..rows.len() {
            *found.entry(rows.required(row, 1)?).or_default() += 1;
            all.push(rows.required(row, 2)?);
        }
        self.note_unfinished(&found, share);
        Ok(all)
    }

    fn tell_predecessors(&mut self, jobs: &[i64]) -> Result<()> {
        let share = self.share(jobs);
        let rows = self.spi.run(&TELL, &[datum(jobs), datum(share)])?;
        let mut found = BTreeMap::new();
        for row in 0..rows.len() {
            let job = rows.required(row, 1)?;
            *found.entry(job).or_default() += 1;
            match Telling::read(rows.required(row, 2)?)? {
                Telling::Told => self.leads_on = true,
                Telling::Busy => self.left.later.push(job),
                // It is met, or not, in a moment.
                Telling::Ended => {}
            }
        }
        self.note_unfinished(&found, share);
        Ok(())
    }

    /// Returns the jobs that may wait for no predecessor any more. What is discarded has followers, too: the rest of a long chain is
    /// seen to after the commit.
    fn meet_all_dependencies(&mut self, jobs: &[i64]) -> Result<Vec<i64>> {
        let (mut met, mut discarded) = self.meet_dependencies(jobs)?;
        let mut changed = met.len() + discarded.len();
        for _ in 1..LINKS {
            if discarded.is_empty() || i64::try_from(changed).is_ok_and(|done| done >= self.chunk) {
                break;
            }
            let (more, next) = self.meet_dependencies(&discarded)?;
            changed += more.len() + next.len();
            met.extend(more);
            discarded = next;
        }
        Ok(met)
    }

    /// Returns the jobs that may wait for no predecessor any more, and those that were discarded.
    fn meet_dependencies(&mut self, jobs: &[i64]) -> Result<(Vec<i64>, Vec<i64>)> {
        let share = self.share(jobs);
        let rows = (self.spi).run(&MEET, &[datum(jobs), datum(self.chunk), datum(share)])?;
        let mut met = Vec::with_capacity(rows.len());
        // They are found again from the side of what has ended.
        let mut busy = BTreeSet::new();
        let mut failed: BTreeMap<(i64, Option<String>), Vec<i64>> = BTreeMap::new();
        for row in 0..rows.len() {
            let job = rows.required(row, 1)?;
            let outcome = Meeting::read(rows.required(row, 4)?)?;
            self.leads_on |= outcome != Meeting::Busy;
            match outcome {
                Meeting::Met => met.push(job),
                Meeting::Held => {}
                Meeting::Busy => {
                    busy.insert(rows.required::<i64>(row, 2)?);
                }
                Meeting::Failed => failed
                    .entry((rows.required(row, 2)?, rows.value(row, 3)))
                    .or_default()
                    .push(job),
            }
        }
        if i64::try_from(rows.len()).is_ok_and(|count| count >= self.chunk) {
            self.unfinished.extend(jobs);
        }
        self.left.later.extend(busy);
        let mut discarded = Vec::new();
        for ((predecessor, state), followers) in failed {
            let state = state.as_deref().unwrap_or("gone");
            let error = format!("job {predecessor}, which it comes after, is {state}");
            end_waiting(self.spi, &followers, End::Discarded, datum(error))?;
            discarded.extend(followers);
        }
        Ok((met, discarded))
    }

    /// Returns the batches that have failed, and must not end before they are marked so.
    fn see_to_children(&mut self, jobs: &[i64]) -> Result<Vec<i64>> {
        let undecided = fail(self.spi, Some(jobs))?;
        self.left.later.extend(&undecided);
        let rows = self.spi.run(&TO_STOP, &[datum(jobs), datum(self.chunk)])?;
        let children: Vec<i64> = (0..rows.len())
            .map(|row| rows.required(row, 1))
            .collect::<Result<_>>()?;
        if !children.is_empty() {
            end_waiting(self.spi, &children, End::Cancelled, None)?;
        }
        let has_moved = self.move_to_priority(jobs)?;
        let rows = self.spi.run(&UNFINISHED, &[datum(jobs)])?;
        let again = match children.is_empty() && !has_moved {
            true => &mut self.left.later,
            false => &mut self.left.now,
        };
        for row in 0..rows.len() {
            again.push(rows.required(row, 1)?);
        }
        Ok(undecided)
    }

    /// Returns whether any child has got the priority of its batch. The batch may have got yet another one meanwhile, and who looked at
    /// it then did not see these children. So the commit has it looked at once more.
    fn move_to_priority(&self, jobs: &[i64]) -> Result<bool> {
        let rows = self
            .spi
            .run(&REPRIORITIZE, &[datum(jobs), datum(self.chunk)])?;
        let mut moved = BTreeSet::new();
        for row in 0..rows.len() {
            // A trigger may put it back.
            if rows.value(row, 2) == Some(true) {
                moved.insert(rows.required::<i64>(row, 1)?);
            }
        }
        if !moved.is_empty() {
            pending::note(self.job_table, |level| level.follow_ups.extend(&moved));
        }
        Ok(!moved.is_empty())
    }

    fn decide(&mut self, jobs: &[i64]) -> Result<()> {
        let rows = self.spi.run(&LOCK, &[datum(jobs)])?;
        let mut locked: Vec<i64> = Vec::with_capacity(rows.len());
        for row in 0..rows.len() {
            let job = rows.required(row, 1)?;
            match rows.required(row, 2)? {
                true => locked.push(job),
                false => self.left.later.push(job),
            }
        }
        if locked.is_empty() {
            return Ok(());
        }
        // It is younger than the locks.
        let rows = self.spi.run(&DECIDE, &[datum(locked)])?;
        if rows.len() == 0 {
            return Ok(());
        }
        self.leads_on = true;
        let mut ids: Vec<i64> = Vec::with_capacity(rows.len());
        let mut states: Vec<State> = Vec::with_capacity(rows.len());
        let mut children: Vec<Option<String>> = Vec::with_capacity(rows.len());
        for row in 0..rows.len() {
            ids.push(rows.required(row, 1)?);
            states.push(State::read(rows.required(row, 2)?)?);
            children.push(rows.value(row, 3));
        }
        self.end_block(&ids, &states, children)
    }

    /// Ends blocks, and gives what has become available.
    fn release(&self, arguments: &[Option<Datum>]) -> Result<(Rows<'_>, Vec<(LaneSpec, i64)>)> {
        pending::begin(self.job_table, Work::Release(Vec::new()));
        let changed = self.spi.run(&END_BLOCK, arguments)?;
        let released = match pending::end() {
            Some(Work::Release(jobs)) => jobs,
            _ => Vec::new(),
        };
        Ok((changed, released))
    }

    /// The claim that does this may take what has become available.
    fn end_block(
        &self,
        ids: &[i64],
        states: &[State],
        children: Vec<Option<String>>,
    ) -> Result<()> {
        let names = state::names(states.iter().copied());
        let arguments = [datum(ids), datum(names), datum(children)];
        let (changed, released) = match self.is_own {
            true => (self.spi.run(&END_BLOCK, &arguments)?, Vec::new()),
            false => self.release(&arguments)?,
        };
        for row in 0..changed.len() {
            if changed.required(row, 2)? {
                return Err(cancelled_by_trigger("update"));
            }
        }
        shmem::with(self.job_table, |memory| {
            let mut released = released.iter();
            released.try_for_each(|(spec, position)| memory.lower(spec, *position))
        })?;
        let ended = ids.iter().zip(states);
        let ended = ended.filter(|(_, state)| **state != State::Available);
        let endings = ended.map(|(&id, state)| Ok(Ending::of_waiting(id, state.required_end()?)));
        end_locked(self.spi, endings.collect::<Result<_>>()?)
    }
}
