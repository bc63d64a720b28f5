//! Jobs after which others are to be looked at: a parent whose last child may have ended, a job that others come after, a batch
//! whose settings have changed. It is a hint: the tables tell what is to be done, and a rebuild looks at all of them.

use crate::pg::server;

/// The most jobs that are remembered one by one.
const MOST: usize = 64;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FollowUps {
    jobs: [i64; MOST],
    count: u32,
    /// More jobs came than could be listed, or none were.
    look_at_all: bool,
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
    pub look_at_all: bool,
    /// What is found is not to be looked at together.
    pub singly: bool,
}

impl FollowUp {
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty() && !self.look_at_all
    }

    pub fn absorb(&mut self, other: Self) {
        self.jobs.extend(other.jobs);
        self.look_at_all |= other.look_at_all;
        self.singly |= other.singly;
    }
}

impl Default for FollowUps {
    fn default() -> Self {
        Self {
            jobs: [0; MOST],
            count: 0,
            look_at_all: false,
            singly: 0,
            since: i64::MAX,
            next: i64::MAX,
        }
    }
}

impl FollowUps {
    pub fn look_at_all(&mut self) {
        self.look_at_all = true;
        self.hasten(i64::MIN);
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
            None => self.look_at_all = true,
        }
    }

    /// Takes up to `most` jobs, first those that came first, and what is not listed if all that is listed is taken.
    pub fn take(&mut self, most: usize) -> FollowUp {
        let singly = self.singly > 0;
        let most = if singly { 1 } else { most };
        let count = self.count as usize;
        let taken = count.min(most);
        let jobs = self.jobs.iter().take(taken).copied().collect();
        self.jobs.copy_within(taken..count, 0);
        self.count = (count - taken) as u32;
        let look_at_all = taken == count && taken < most && std::mem::take(&mut self.look_at_all);
        if taken > 0 || look_at_all {
            self.singly = self.singly.saturating_sub(1);
        }
        if self.count == 0 && !self.look_at_all {
            self.next = i64::MAX;
        }
        FollowUp {
            jobs,
            look_at_all,
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
        if left.look_at_all {
            self.look_at_all = true;
            self.hasten(next);
        }
        for &job in &left.jobs {
            self.add(job, next);
        }
    }
}
