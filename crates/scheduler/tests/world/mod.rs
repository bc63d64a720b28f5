//! A world of open transactions over one table of jobs, in which the scheduler's steps interleave as
//! they do in a server: rows become visible first, callbacks run later, anything may happen between.

// Each test uses a part of it.
#![allow(dead_code)]

pub mod aging;
pub mod arena;
pub mod batches;
pub mod claim;
pub mod clock;
pub mod dml;
pub mod elastic;
pub mod ending;
pub mod fairness;
pub mod known;
pub mod look;
pub mod naive;
pub mod overflow;
pub mod query;
pub mod rates;
pub mod rebuild;
pub mod rules;
pub mod run;
pub mod shape;
pub mod table;
pub mod tally;
pub mod transaction;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use turnstile_scheduler::{Capacity, EVERY_QUEUE, GateKind};

use aging::Dates;
use arena::Arena;
use clock::Clock;
use elastic::NOTHING;
use fairness::Fairness;
use overflow::Load;
use rates::Rates;
use rebuild::Trust;
use shape::Shape;
use table::{JobId, Table};
use tally::Tally;
use transaction::{Phase, Transaction};

/// Steps within which open transactions must come to their end.
const PATIENCE: usize = 20_000;

pub type Checked<T = ()> = Result<T, String>;

pub struct World {
    pub rng: SmallRng,
    pub shape: Shape,
    pub arena: Arena,
    pub memory: Trust,
    pub loads: Vec<Load>,
    pub table: Table,
    pub transactions: Vec<Transaction>,
    pub tally: Tally,
    pub clock: Clock,
    pub rates: Rates,
    pub fairness: Fairness,
    pub dates: Dates,
    /// Lanes and nodes get no more slots for now.
    pub refuses_growth: bool,
    last_transaction: u64,
}

impl World {
    pub fn new(seed: u64, shape: impl FnOnce(&mut SmallRng) -> Shape) -> Self {
        let mut rng = SmallRng::seed_from_u64(seed);
        let shape = shape(&mut rng);
        let capacity = match shape.elastic {
            true => Capacity {
                samples: shape.capacity.samples,
                ..NOTHING
            },
            false => shape.capacity,
        };
        Self {
            rng,
            shape,
            arena: Arena::with_records(capacity, shape.records),
            memory: Trust::Ready,
            loads: Vec::new(),
            table: Table::default(),
            transactions: Vec::new(),
            tally: Tally::default(),
            clock: Clock::default(),
            rates: Rates::default(),
            fairness: Fairness::with_room(shape.capacity.shares - 1),
            dates: Dates::default(),
            refuses_growth: false,
            last_transaction: 0,
        }
    }

    /// One step of any participant.
    pub fn step(&mut self) -> Checked {
        self.let_time_pass();
        self.resize_memory()?;
        if self.memory != Trust::Ready && self.rng.random_bool(0.3) {
            return self.step_rebuild();
        }
        if self.shape.resets && self.rng.random_bool(0.004) {
            self.distrust();
            return Ok(());
        }
        if self.rng.random_bool(0.01) {
            return self.run_alone();
        }
        if self.rng.random_bool(0.2) && self.has_overflow() {
            return self.step_overflow();
        }
        if self.shape.resets && self.memory == Trust::Ready && self.rng.random_bool(0.003) {
            return self.evict_any();
        }
        if self.shape.aging && self.memory != Trust::Stale && self.rng.random_bool(0.02) {
            return self.look_at_sequence();
        }
        let open = self.transactions.len();
        let at = self.rng.random_range(0..self.shape.transactions);
        if at >= open {
            self.begin();
            return Ok(());
        }
        if self.transactions[at].phase != Phase::Open {
            return self.call_back(at);
        }
        if self.memory == Trust::Ready && self.rng.random_bool(0.02) {
            return self.end_claim(at);
        }
        match self.rng.random_range(0..100) {
            0..2 => self.abort(at),
            2..4 if self.transactions[at].level > 0 => self.rollback_to_savepoint(at),
            _ if self.claim_must_wait(at) => {}
            20..22 if self.memory == Trust::Ready && self.transactions[at].claim.is_none() => {
                self.look_at_a_lane(at)?;
            }
            _ if self.transactions[at].claim.is_some() => {
                self.step_claim(at)?;
            }
            2..20 => self.commit(at)?,
            20..24 => self.abort(at),
            _ => self.any_statement(at),
        }
        Ok(())
    }

    pub fn begin(&mut self) -> usize {
        self.last_transaction += 1;
        self.transactions
            .push(Transaction::new(self.last_transaction));
        self.transactions.len() - 1
    }

    /// Brings all transactions to their end.
    pub fn finish_all_transactions(&mut self) -> Checked {
        for _ in 0..PATIENCE {
            if self.transactions.is_empty() {
                return Ok(());
            }
            let at = self.rng.random_range(0..self.transactions.len());
            match self.transactions[at].phase {
                Phase::Open if self.claim_must_wait(at) => self.step_rebuild()?,
                Phase::Open if self.transactions[at].claim.is_some() => {
                    self.step_claim(at)?;
                }
                Phase::Open if self.rng.random_bool(0.7) => self.commit(at)?,
                Phase::Open => self.abort(at),
                _ => self.call_back(at)?,
            }
            self.check()?;
        }
        Err(format!("transactions do not end within {PATIENCE} steps"))
    }

    /// Among queues it is a position that decides, and what is next in a fair queue may be known by a lower
    /// bound only, behind which another tenant's job with a lesser position comes next.
    fn may_differ(&self, queue: u64) -> bool {
        let mut queues = self.shape.queue_keys();
        let is_fair = |queue| self.effective_settings(GateKind::Queue, queue).is_fair;
        self.has_far_positions() || queue == EVERY_QUEUE && queues.any(is_fair)
    }

    /// Claims while nothing else runs. The result must be that of the naive scan, at once or one by one.
    fn run_alone(&mut self) -> Checked {
        self.finish_all_transactions()?;
        self.finish_rebuild()?;
        let mut overflows = self.has_overflow();
        let at = self.begin();
        let queue = self.shape.any_claimed_queue(&mut self.rng);
        let wanted = self.any_wanted();
        for _ in 0..self.rng.random_range(0..3) {
            if let Some((job, _)) = self.any_row(at, table::Row::is_running) {
                self.finish(at, job);
            }
        }
        self.read_all_terms()?;
        let forgotten = self.tally.of("shares forgotten");
        let expected = self.naive_claim(at, queue, wanted)?;
        let has_new_buckets = self.has_unmetered_rate(&expected)?;
        self.savepoint(at);
        let together = self.claim_at_once(at, queue, wanted)?;
        self.rollback_to_savepoint(at);
        self.check()?;
        self.call_back(at)?;
        self.check()?;
        // A claim that finds a lane outside takes it in, so there may be none at the end.
        overflows |= self.has_overflow();
        let still_expected = self.naive_claim(at, queue, wanted)?;
        let mut singly = Vec::new();
        for _ in 0..wanted {
            singly.extend(self.claim_at_once(at, queue, 1)?);
            overflows |= self.has_overflow();
            self.check()?;
        }
        let is_missed =
            |found: &[JobId], expected: &[JobId]| found.is_empty() && !expected.is_empty();
        let missed = is_missed(&together, &expected) || is_missed(&singly, &still_expected);
        if missed && self.shape.has_ample_gates() && !has_new_buckets {
            return Err(format!(
                "a claim found nothing: {expected:?}, then {still_expected:?} may run"
            ));
        }
        let enough = self.arena.capacity.reservations > wanted;
        let is_verified = !overflows
            && enough
            && !self.may_differ(queue)
            && forgotten == self.tally.of("shares forgotten");
        if is_verified && (together != expected || singly != still_expected) {
            return Err(format!(
                "alone: expected {expected:?}, claimed {together:?}; expected {still_expected:?}, one by one {singly:?}"
            ));
        }
        self.tally.count("claim alone");
        if !expected.is_empty() {
            self.tally.count("claim alone that found something");
        }
        match self.rng.random_bool(0.8) {
            true => self.commit(at)?,
            false => self.abort(at),
        }
        self.call_back(at)
    }

    /// A claim does not wait: it ends while all others stand still.
    fn end_claim(&mut self, at: usize) -> Checked {
        for _ in 0..PATIENCE {
            if self.transactions[at].claim.is_none() {
                return Ok(());
            }
            self.step_claim(at)?;
            self.check()?;
        }
        Err("a claim waits for others".into())
    }

    pub fn claim_at_once(&mut self, at: usize, queue: u64, wanted: usize) -> Checked<Vec<JobId>> {
        self.finish_rebuild()?;
        self.start_claim(at, queue, wanted);
        let most = 20 * (self.table.jobs.len() + 10);
        for _ in 0..most {
            if let Some(jobs) = self.step_claim(at)? {
                return Ok(jobs);
            }
            self.check()?;
        }
        Err(format!("a claim did not end within {most} steps"))
    }
}
