//! Backends that are gone and may have left runs that were bound to them.

/// The most backends that are remembered one by one.
const MOST: usize = 64;

/// A backend: process ids are used again, so the start time belongs to it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    pub pid: i32,
    pub started_at: i64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct GoneOwners {
    owners: [Owner; MOST],
    count: u32,
    /// More are gone than could be listed, or none were listed: every owner that does not run now is gone.
    look_at_all: bool,
    /// When a claim must search for their runs; `i64::MAX`: nothing to search for.
    next: i64,
}

/// What a search has taken from memory; an abort brings it back.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gone {
    pub owners: Vec<Owner>,
    pub look_at_all: bool,
}

impl Gone {
    pub fn is_empty(&self) -> bool {
        self.owners.is_empty() && !self.look_at_all
    }

    pub fn absorb(&mut self, other: Gone) {
        self.owners.extend(other.owners);
        self.look_at_all |= other.look_at_all;
    }
}

impl Default for GoneOwners {
    fn default() -> Self {
        Self {
            owners: [Owner::default(); MOST],
            count: 0,
            look_at_all: false,
            next: i64::MAX,
        }
    }
}

impl GoneOwners {
    /// As after a restart of the server, of which no backend could leave word.
    pub fn look_at_all(&mut self) {
        self.look_at_all = true;
        self.next = i64::MIN;
    }

    pub fn next(&self) -> i64 {
        self.next
    }

    pub fn add(&mut self, owner: Owner) {
        let listed = self.owners.iter().take(self.count as usize);
        if listed.into_iter().any(|known| *known == owner) {
            return;
        }
        match self.owners.get_mut(self.count as usize) {
            Some(place) => {
                *place = owner;
                self.count += 1;
            }
            None => self.look_at_all = true,
        }
    }

    /// Begins a search: no other search covers the same backends meanwhile.
    pub fn take(&mut self) -> Gone {
        let count = std::mem::take(&mut self.count) as usize;
        self.next = i64::MAX;
        Gone {
            owners: self.owners.iter().take(count).copied().collect(),
            look_at_all: std::mem::take(&mut self.look_at_all),
        }
    }

    /// The next search for these backends is due at `next`.
    pub fn put_back(&mut self, gone: &Gone, next: i64) {
        if gone.is_empty() {
            return;
        }
        self.look_at_all |= gone.look_at_all;
        for &owner in &gone.owners {
            self.add(owner);
        }
        self.next = self.next.min(next);
    }
}
