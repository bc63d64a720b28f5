//! When the next lease ends, as far as claims know.

/// The most runs that are remembered one by one.
const MOST_STRAGGLERS: usize = 64;

/// A run that a search could not take because another transaction had locked it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Straggler {
    pub job: i64,
    /// When its lease ended.
    pub lease: i64,
}

/// Like a head, the floor is a lower bound, so that a search never repeats the walk of an earlier one.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Leases {
    /// Of all committed runs only stragglers have a lease that ends before this.
    floor: i64,
    /// When a claim must search (microseconds of PostgreSQL's epoch); `i64::MAX`: nothing to search for.
    pub next: i64,
    /// Searches that have taken the floor and not returned it yet.
    searches: u32,
    straggler_count: u32,
    stragglers: [Straggler; MOST_STRAGGLERS],
}

/// What a search has taken from memory, or leaves to the next one.
#[derive(Clone, Debug)]
pub struct Search {
    pub floor: i64,
    pub stragglers: Vec<Straggler>,
}

impl Default for Leases {
    fn default() -> Self {
        Self {
            floor: i64::MAX,
            next: i64::MAX,
            searches: 0,
            straggler_count: 0,
            stragglers: [Straggler::default(); MOST_STRAGGLERS],
        }
    }
}

impl Leases {
    /// A rebuild begins: a search that is under way returns to the new floor.
    pub fn forget(&mut self) {
        *self = Self {
            searches: self.searches,
            ..Self::default()
        };
    }

    /// A run has a lease that ends then.
    pub fn note(&mut self, lease: i64) {
        self.floor = self.floor.min(lease);
        self.next = self.next.min(lease);
    }

    /// Begins a search: no other search covers the same runs meanwhile.
    pub fn take(&mut self) -> Search {
        let search = Search {
            floor: std::mem::replace(&mut self.floor, i64::MAX),
            stragglers: self.stragglers().collect(),
        };
        self.next = i64::MAX;
        self.straggler_count = 0;
        self.searches = self.searches.saturating_add(1);
        search
    }

    /// A search has ended or was cut short; the next one is due at `next`.
    pub fn put_back(&mut self, search: &Search, next: i64) {
        self.floor = self.floor.min(search.floor);
        self.next = self.next.min(next);
        for &straggler in &search.stragglers {
            self.add_straggler(straggler);
        }
    }

    pub fn end_search(&mut self) {
        self.searches = self.searches.saturating_sub(1);
    }

    /// If no place is left, the floor goes back to where a search finds the run.
    fn add_straggler(&mut self, straggler: Straggler) {
        if self.stragglers().any(|known| known.job == straggler.job) {
            return;
        }
        match self.stragglers.get_mut(self.straggler_count as usize) {
            Some(place) => {
                *place = straggler;
                self.straggler_count += 1;
            }
            None => self.floor = self.floor.min(straggler.lease),
        }
    }

    pub fn stragglers(&self) -> impl Iterator<Item = Straggler> + '_ {
        let count = self.straggler_count as usize;
        self.stragglers.iter().take(count).copied()
    }

    /// The floor, unless a search is under way.
    pub fn settled_floor(&self) -> Option<i64> {
        (self.searches == 0).then_some(self.floor)
    }
}
