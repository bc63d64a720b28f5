//! Jobs after which others are to be looked at: a parent whose last child may have ended, a job that others come after, a batch
//! whose settings have changed. It is a hint: the tables tell what is to be done, and a rebuild looks at all of them.

use crate::pg::seeded::{Seeded, armed};
use crate::pg::server;

/// The most jobs that are remembered one by one.
const MOST: usize = 64;

/// What a walk over all jobs goes through, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    Batches,
    Followers,
    Blocked,
}

/// How far a walk over all jobs has come: to the job of this id, or behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Walk {
    pub part: Part,
    pub from: i64,
}

impl Part {
    pub fn next(self) -> Option<Self> {
        match self {
            Self::Batches => Some(Self::Followers),
            Self::Followers => Some(Self::Blocked),
            Self::Blocked => None,
        }
    }
}

impl Walk {
    const FIRST: Self = Self::through(Part::Batches);

    pub const fn through(part: Part) -> Self {
        let from = i64::MIN;
        Self { part, from }
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FollowUps {
    jobs: [i64; MOST],
    count: u32,
    /// All jobs from there on: more came than could be listed, or none were.
    walk: Option<Walk>,
    /// All jobs, once that is over: more came meanwhile.
    walk_again: bool,
    /// None were listed.
    is_lost: bool,
    /// So many times one job is looked at by itself: one of those that were looked at together has failed.
    singly: u32,
    /// Since when there has been something to look at.
    since: i64,
    /// When a claim must look; `i64::MAX`: there is nothing to look at.
    next: i64,
}

/// What has been taken from memory to be looked at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FollowUp {
    pub jobs: Vec<i64>,
    /// All jobs from there on.
    pub walk: Option<Walk>,
    /// Nothing is known of any job.
    pub is_lost: bool,
    /// What is found is not to be looked at together.
    pub singly: bool,
}

impl FollowUp {
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty() && self.walk.is_none()
    }

    pub fn absorb(&mut self, other: Self) {
        self.jobs.extend(other.jobs);
        self.walk = self.walk.into_iter().chain(other.walk).min();
        self.is_lost |= other.is_lost;
        self.singly |= other.singly;
    }
}

impl Default for FollowUps {
    fn default() -> Self {
        Self {
            jobs: [0; MOST],
            count: 0,
            walk: None,
            walk_again: false,
            is_lost: false,
            singly: 0,
            since: i64::MAX,
            next: i64::MAX,
        }
    }
}

impl FollowUps {
    pub fn look_at_all(&mut self) {
        self.is_lost = true;
        self.begin_walk();
        self.hasten(i64::MIN);
    }

    /// A walk comes to its end before the next one begins: some jobs may not be to be had for a long time.
    fn begin_walk(&mut self) {
        match self.walk {
            None => self.walk = Some(Walk::FIRST),
            Some(Walk::FIRST) => {}
            Some(_) => self.walk_again = true,
        }
    }

    fn go_on(&mut self, walk: Walk) {
        let known = self.walk.replace(walk);
        match known {
            None => {}
            Some(Walk::FIRST) => self.walk_again |= walk != Walk::FIRST,
            Some(known) => self.walk = Some(known.min(walk)),
        }
    }

    /// The jobs are gone.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    fn hasten(&mut self, next: i64) {
        if self.next == i64::MAX {
            self.since = server::now();
        }
        self.next = self.next.min(next);
    }

    pub fn since(&self) -> i64 {
        self.since
    }

    pub fn next(&self) -> i64 {
        self.next
    }

    /// The job is to be looked at, at `next` or before.
    pub fn add(&mut self, job: i64, next: i64) {
        self.hasten(next);
        let mut listed = self.jobs.iter().take(self.count as usize);
        if listed.any(|&known| known == job) {
            return;
        }
        match self.jobs.get_mut(self.count as usize) {
            Some(place) => {
                *place = job;
                self.count += 1;
            }
            None => self.begin_walk(),
        }
    }

    /// Takes up to `most` jobs, first those that came first, and what is not listed if all that is listed is taken. Another walk begins
    /// at `again`, if it has to.
    pub fn take(&mut self, most: usize, again: i64) -> FollowUp {
        let singly = self.singly > 0;
        let count = self.count as usize;
        // What is listed may fail for ever.
        let takes_both = !singly || armed(Seeded::WalkTogether);
        let only_walks = !takes_both && self.walk.is_some() && self.singly.is_multiple_of(2);
        let taken = match (singly, only_walks) {
            (_, true) => 0,
            (true, _) => count.min(1),
            (false, _) => count.min(most),
        };
        let jobs = self.jobs.iter().take(taken).copied().collect();
        self.jobs.copy_within(taken..count, 0);
        self.count = (count - taken) as u32;
        let may_walk = only_walks || taken == count && (takes_both || taken == 0);
        let walk = self.walk.take_if(|_| may_walk);
        let is_lost = walk.is_some() && std::mem::take(&mut self.is_lost);
        if taken > 0 || walk.is_some() {
            self.singly = self.singly.saturating_sub(1);
        }
        if self.count == 0 && self.walk.is_none() {
            self.next = i64::MAX;
            if std::mem::take(&mut self.walk_again) {
                self.begin_walk();
                self.hasten(again);
            }
        }
        FollowUp {
            jobs,
            walk,
            is_lost,
            singly,
        }
    }

    /// What was taken was not looked at to the end. One job that always fails must not keep the others from being looked at.
    pub fn put_back_failed(&mut self, left: &FollowUp, next: i64) {
        if !left.is_empty() {
            self.singly = 2 * MOST as u32;
        }
        self.put_back(left, next);
    }

    /// What was taken is to be looked at again, at `next` or before.
    pub fn put_back(&mut self, left: &FollowUp, next: i64) {
        if let Some(walk) = left.walk {
            self.go_on(walk);
            self.is_lost |= left.is_lost;
            self.hasten(next);
        }
        for &job in &left.jobs {
            self.add(job, next);
        }
    }
}
