//! Jobs that go through the scheduler in small crowds; one step of theirs is timed.

use crate::arena::Arena;
use crate::shape::{QUEUE, Shape, limit};
use std::time::{Duration, Instant};
use turnstile_scheduler::{
    LaneSpec, Outcome, Pick, Picked, ReservationId, Scheduler, Terms, UnknownGate,
};

/// Jobs that take each step together: the clock is read once for all of them.
const CROWD: u64 = 64;

/// What the scheduler does for one job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Find its lane, reserve room, and put the lane where its next job belongs.
    Claim,
    /// The claim commits.
    CommitOfClaim,
    /// Its end commits: room at every gate is back.
    CommitOfFinish,
    /// Another job of the lane commits.
    CommitOfEnqueue,
}

impl Part {
    pub const ALL: [Part; 4] = [
        Part::Claim,
        Part::CommitOfClaim,
        Part::CommitOfFinish,
        Part::CommitOfEnqueue,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Part::Claim => "claim step",
            Part::CommitOfClaim => "commit step of a claim",
            Part::CommitOfFinish => "commit step of a finish",
            Part::CommitOfEnqueue => "commit step of an enqueue",
        }
    }
}

#[derive(Clone, Copy)]
struct Job {
    spec: LaneSpec,
    position: i64,
    reservation: ReservationId,
}

/// Lanes that all have work: job `n` of lane `i` stands at `n * lanes + i`, so claims go round all of them.
pub struct Load<'a> {
    scheduler: Scheduler<'a>,
    lanes: i64,
    goes_on: bool,
    crowd: Vec<Job>,
}

impl<'a> Load<'a> {
    pub fn new(arena: &'a mut Arena, shape: Shape, lanes: usize) -> Self {
        let mut scheduler = arena.scheduler();
        lower_all(&mut scheduler, &shape.lanes(lanes));
        let mut load = Self {
            scheduler,
            lanes: i64::try_from(lanes).expect("a number of lanes"),
            goes_on: shape.goes_on,
            crowd: Vec::new(),
        };
        // Once round all lanes, so that every limit is known.
        load.time(Part::Claim, lanes as u64);
        load
    }

    /// Takes so many jobs through all steps and returns how long the given one took.
    pub fn time(&mut self, part: Part, jobs: u64) -> Duration {
        let mut total = Duration::ZERO;
        let mut left = jobs;
        while left > 0 {
            let crowd = left.min(CROWD);
            left -= crowd;
            for each in Part::ALL {
                let begun = Instant::now();
                self.step(each, crowd);
                if each == part {
                    total += begun.elapsed();
                }
            }
            self.crowd.clear();
        }
        total
    }

    fn step(&mut self, part: Part, crowd: u64) {
        match part {
            Part::Claim => (0..crowd).for_each(|_| {
                let job = self.claim();
                self.crowd.push(job);
            }),
            Part::CommitOfClaim => self.for_each(|scheduler, job| {
                scheduler.commit(job.reservation).expect("a claim commits");
            }),
            Part::CommitOfFinish => self.for_each(|scheduler, job| {
                scheduler.release(&job.spec, 1).expect("a finish commits");
            }),
            Part::CommitOfEnqueue => {
                let ahead = self.lanes;
                self.for_each(|scheduler, job| {
                    let position = job.position + ahead;
                    scheduler.lower(&job.spec, position).expect("a job comes");
                });
            }
        }
    }

    fn for_each(&mut self, mut step: impl FnMut(&mut Scheduler, &Job)) {
        for job in &self.crowd {
            step(&mut self.scheduler, job);
        }
    }

    fn claim(&mut self) -> Job {
        loop {
            let mut reservations = [ReservationId::default()];
            let pick = self.scheduler.pick(QUEUE, 1, &mut [], &mut reservations);
            match pick.expect("a pick") {
                Pick::Lane(picked) => return self.take(&picked, reservations),
                Pick::Unknown(_, gates) => self.read(&gates),
                other => panic!("every lane has work, but: {other:?}"),
            }
        }
    }

    /// As a claim that found the job at the lane's head, and the one behind it.
    fn take(&mut self, picked: &Picked, reservations: [ReservationId; 1]) -> Job {
        let position = picked.head;
        let next = [position + self.lanes];
        let outcome = Outcome {
            taken: &[position],
            seen: if self.goes_on { &next } else { &[] },
            seen_all: !self.goes_on,
        };
        let blocked = self.scheduler.settle(picked, &reservations, outcome);
        assert_eq!(blocked, Ok(None), "nobody else has locked a job");
        Job {
            spec: picked.spec,
            position,
            reservation: reservations[0],
        }
    }

    fn read(&mut self, gates: &[UnknownGate]) {
        for gate in gates.iter().filter(|gate| gate.key != 0) {
            let terms = Terms::from(limit(gate.kind));
            let stored = self
                .scheduler
                .set_terms(gate.kind, gate.key, gate.version, &terms);
            assert_eq!(stored, Ok(true), "nobody else changes limits");
        }
    }
}

/// The pure part of a rebuild: what reading the tables costs is not in it.
pub fn rebuild(scheduler: &mut Scheduler, lanes: &[LaneSpec]) {
    scheduler.begin_rebuild().expect("a rebuild begins");
    scheduler.no_paused_sessions();
    lower_all(scheduler, lanes);
    scheduler.end_rebuild().expect("a rebuild ends");
}

fn lower_all(scheduler: &mut Scheduler, lanes: &[LaneSpec]) {
    for (lane, position) in lanes.iter().zip(0..) {
        scheduler
            .lower(lane, position)
            .expect("there is room for every lane");
    }
}
