//! The places that a transaction's new jobs have taken in backlogs with a bound.

use turnstile_scheduler::figures::Id;

/// Places in one backlog.
#[derive(PartialEq)]
pub struct Charge {
    pub name: Id,
    pub jobs: u32,
}

/// Given back when the savepoint level or transaction ends, in whatever way.
#[derive(Default, PartialEq)]
pub struct Charges(Vec<Charge>);

impl Charges {
    pub fn iter(&self) -> impl Iterator<Item = &Charge> {
        self.0.iter()
    }

    pub fn absorb(&mut self, inner: Self) {
        self.0.extend(inner.0);
    }

    /// A new job takes a place.
    pub fn take(&mut self, name: Id) {
        match self.last(name) {
            Some(charge) => charge.jobs += 1,
            None => self.0.push(Charge { name, jobs: 1 }),
        }
    }

    /// The new job was refused the place.
    pub fn give_back(&mut self, name: Id) {
        if let Some(charge) = self.last(name) {
            charge.jobs = charge.jobs.saturating_sub(1);
        }
    }

    /// One of the last charges: neighbors often go to the same queue and tenant.
    fn last(&mut self, name: Id) -> Option<&mut Charge> {
        const LOOKED_AT: usize = 4;
        let mut last = self.0.iter_mut().rev().take(LOOKED_AT);
        last.find(|charge| charge.name == name)
    }
}
