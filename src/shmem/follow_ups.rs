//! Jobs after which others are to be looked at: a parent whose last child may have ended, a job that others come after, a batch
//! whose settings have changed. It is a hint: the tables tell what is to be done, and a rebuild looks at all of them.

/// The most jobs that are remembered one by one.
const MOST: usize = 64;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FollowUps {
    jobs: [i64; MOST],
    count: u32,
    /// More jobs came than could be listed, or none were.
    look_at_all: bool,
    /// When a claim must look; `i64::MAX`: there is nothing to look at.
    next: i64,
}

/// What has been taken from memory to be looked at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FollowUp {
    pub jobs: Vec<i64>,
    pub look_at_all: bool,
}

impl FollowUp {
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty() && !self.look_at_all
    }

    pub fn absorb(&mut self, other: Self) {
        self.jobs.extend(other.jobs);
        self.look_at_all |= other.look_at_all;
    }
}

impl Default for FollowUps {
    fn default() -> Self {
        Self {
            jobs: [0; MOST],
            count: 0,
            look_at_all: false,
            next: i64::MAX,
        }
    }
}

impl FollowUps {
    pub fn look_at_all(&mut self) {
        self.look_at_all = true;
        self.next = i64::MIN;
    }

    pub fn next(&self) -> i64 {
        self.next
    }

    /// The job is to be looked at, at `next` or before.
    pub fn add(&mut self, job: i64, next: i64) {
        self.next = self.next.min(next);
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

    /// Takes up to `most` jobs, and what is not listed if all that is listed is taken.
    pub fn take(&mut self, most: usize) -> FollowUp {
        let count = self.count as usize;
        let taken = count.min(most);
        let jobs = self.jobs.iter().take(count).skip(count - taken);
        let jobs = jobs.copied().collect();
        self.count = (count - taken) as u32;
        let look_at_all = taken == count && taken < most && std::mem::take(&mut self.look_at_all);
        if self.count == 0 && !self.look_at_all {
            self.next = i64::MAX;
        }
        FollowUp { jobs, look_at_all }
    }

    /// What was taken is to be looked at again, at `next` or before.
    pub fn put_back(&mut self, left: &FollowUp, next: i64) {
        if left.look_at_all {
            self.look_at_all = true;
            self.next = self.next.min(next);
        }
        for &job in &left.jobs {
            self.add(job, next);
        }
    }
}
