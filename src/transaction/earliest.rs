//! The earliest time of each queue that a transaction meets.

/// A transaction that changes jobs of queue after queue notes each of them again and again; so many are kept before what
/// is known twice is dropped.
const AT_FIRST: usize = 64;

/// A list, as most transactions meet one queue: a table would cost each claim more than the rest of its notes.
#[derive(Default, PartialEq)]
pub struct Earliest {
    times: Vec<(u64, i64)>,
    /// How long the list was when it last was as short as could be.
    least: usize,
}

impl Earliest {
    pub fn note(&mut self, queue: u64, time: Option<i64>) {
        let Some(time) = time else {
            return;
        };
        if let Some(last) = self.times.last_mut()
            && last.0 == queue
        {
            last.1 = last.1.min(time);
            return;
        }
        self.times.push((queue, time));
        if self.times.len() >= AT_FIRST.max(self.least.saturating_mul(2)) {
            self.compact();
        }
    }

    fn compact(&mut self) {
        self.times.sort_unstable();
        self.times.dedup_by_key(|&mut (queue, _)| queue);
        self.least = self.times.len();
    }

    pub fn absorb(&mut self, other: Self) {
        for (queue, time) in other.times {
            self.note(queue, Some(time));
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (u64, i64)> + '_ {
        self.times.iter().copied()
    }
}
