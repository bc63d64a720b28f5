//! Jobs after which others are to be looked at: a parent whose last child may have ended, a job that others come after, a batch
//! whose settings have changed. It is a hint: the tables tell what is to be done, and a rebuild looks at all of them.

use crate::pg::server;

/// The least id.
const FIRST: i64 = i64::MIN;
/// The most jobs that are remembered one by one.
const MOST: usize = 64;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FollowUps {
    jobs: [i64; MOST],
    count: u32,
    /// All jobs from this id on: more came than could be listed, or none were.
    all_from: Option<i64>,
    /// All jobs, once that is over: more came meanwhile.
    all_again: bool,
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
    /// All jobs from this id on.
    pub all_from: Option<i64>,
    /// What is found is not to be looked at together.
    pub singly: bool,
}

impl FollowUp {
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty() && self.all_from.is_none()
    }

    pub fn absorb(&mut self, other: Self) {
        self.jobs.extend(other.jobs);
        self.all_from = least(self.all_from, other.all_from);
        self.singly |= other.singly;
    }
}

impl Default for FollowUps {
    fn default() -> Self {
        Self {
            jobs: [0; MOST],
            count: 0,
            all_from: None,
            all_again: false,
            singly: 0,
            since: i64::MAX,
            next: i64::MAX,
        }
    }
}

impl FollowUps {
    pub fn look_at_all(&mut self) {
        self.begin_anew();
        self.hasten(i64::MIN);
    }

    /// Who goes through all jobs comes to their end first: some of them may not be to be had for a long time.
    fn begin_anew(&mut self) {
        match self.all_from {
            None => self.all_from = Some(FIRST),
            Some(FIRST) => {}
            Some(_) => self.all_again = true,
        }
    }

    fn go_on_from(&mut self, from: i64) {
        let known = self.all_from.replace(from);
        match known {
            None => {}
            Some(FIRST) => self.all_again |= from != FIRST,
            Some(known) => self.all_from = Some(known.min(from)),
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
            None => self.begin_anew(),
        }
    }

    /// Takes up to `most` jobs, first those that came first, and what is not listed if all that is listed is taken. All jobs are gone
    /// through once more at `again`, if they have to be.
    pub fn take(&mut self, most: usize, again: i64) -> FollowUp {
        let singly = self.singly > 0;
        let most = if singly { 1 } else { most };
        let count = self.count as usize;
        let taken = count.min(most);
        let jobs = self.jobs.iter().take(taken).copied().collect();
        self.jobs.copy_within(taken..count, 0);
        self.count = (count - taken) as u32;
        let all_from = self.all_from.take_if(|_| taken == count);
        if taken > 0 || all_from.is_some() {
            self.singly = self.singly.saturating_sub(1);
        }
        if self.count == 0 && self.all_from.is_none() {
            self.next = i64::MAX;
            if std::mem::take(&mut self.all_again) {
                self.begin_anew();
                self.hasten(again);
            }
        }
        FollowUp {
            jobs,
            all_from,
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
        if let Some(from) = left.all_from {
            self.go_on_from(from);
            self.hasten(next);
        }
        for &job in &left.jobs {
            self.add(job, next);
        }
    }
}

fn least(one: Option<i64>, other: Option<i64>) -> Option<i64> {
    one.into_iter().chain(other).min()
}
