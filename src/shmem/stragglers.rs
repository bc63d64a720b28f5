//! Runs that a search for expired leases could not take because another transaction had locked them.

/// The most runs that are remembered one by one, of all queues.
const MOST: usize = 64;

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Straggler {
    pub queue: u64,
    pub job: i64,
    /// When its lease ended.
    pub lease: i64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Stragglers {
    runs: [Straggler; MOST],
    count: u32,
}

/// What a search has taken from memory, or leaves to the next one.
#[derive(Clone, Debug)]
pub struct Search {
    pub queue: u64,
    pub floor: i64,
    pub stragglers: Vec<Straggler>,
}

impl Default for Stragglers {
    fn default() -> Self {
        Self {
            runs: [Straggler::default(); MOST],
            count: 0,
        }
    }
}

impl Stragglers {
    pub fn iter(&self) -> impl Iterator<Item = Straggler> + '_ {
        self.runs.iter().take(self.count as usize).copied()
    }

    /// Takes those of a queue.
    pub fn take(&mut self, queue: u64) -> Vec<Straggler> {
        let (taken, left) = self.iter().partition(|run| run.queue == queue);
        let left: Vec<Straggler> = left;
        self.count = 0;
        for run in left {
            self.add(run);
        }
        taken
    }

    /// Returns whether there was a place left.
    pub fn add(&mut self, run: Straggler) -> bool {
        if self.iter().any(|known| known.job == run.job) {
            return true;
        }
        let Some(place) = self.runs.get_mut(self.count as usize) else {
            return false;
        };
        *place = run;
        self.count += 1;
        true
    }
}
