//! What keeps the jobs of a lane waiting, what comes before them, and how fast it goes: for `turnstile.why_waiting()` and
//! its relatives. Each answer takes time by the number of gates, or by a number of lanes that the caller gives.

use crate::gates::settings::{Rate, UnknownGate};
use crate::memory::gate::{GateKind, Limit, MAX_GATES};
use crate::memory::lane::{EVERY_QUEUE, LaneSpec};
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{Fault, NONE, Step};
use crate::order::rank::Rank;
use crate::testing::faults::{Seeded, armed};
use crate::times::MINUTE;

/// What a gate lets through at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GateState {
    pub kind: GateKind,
    pub limit: Limit,
    /// Jobs that run, and room that open claims hold.
    pub held: u32,
    /// The end of a pause that is not over.
    pub paused_until: Option<i64>,
    pub rate: Option<Rate>,
    /// Its rate lets nothing start now.
    pub is_out_of_tokens: bool,
    /// When its rate lets the next job start; none: when an open claim has come to an end.
    pub next_token_at: Option<i64>,
    /// Starts, by those of the last minutes.
    pub per_minute: f64,
    /// For a tenant.
    pub weight: u32,
}

impl GateState {
    pub fn is_full(&self) -> bool {
        matches!(self.limit, Limit::AtMost(most) if self.held >= most)
    }

    pub fn is_open(&self) -> bool {
        !self.is_full() && self.paused_until.is_none() && !self.is_out_of_tokens
    }
}

/// A job, by its lane and position.
#[derive(Clone, Copy, Debug)]
pub struct JobPlace<'a> {
    pub spec: &'a LaneSpec,
    pub position: i64,
}

/// A lane, and which of its jobs come before another job.
#[derive(Clone, Copy, Debug, Default)]
pub struct LaneAhead {
    pub spec: LaneSpec,
    /// Its jobs are here or behind.
    pub head: i64,
    /// Those from here on come later.
    pub before: i64,
    /// A gate is closed that the other job does not pass.
    pub is_held_up: bool,
}

/// Some of the lanes of a queue, or of all, and for how many each stands.
#[derive(Clone, Debug, Default)]
pub struct LaneSample<T> {
    pub lanes: Vec<T>,
    pub each: u32,
}

impl Scheduler<'_> {
    /// The state of a gate; none if memory does not have it, so that nothing runs behind it.
    pub fn gate_state(&self, kind: GateKind, key: u64) -> Step<Option<GateState>> {
        let Some(at) = self.find_gate(kind, key)? else {
            return Ok(None);
        };
        let (gate, now) = (self.gate(at)?, self.header.clock.now);
        let mut state = GateState {
            kind,
            limit: gate.limit(),
            held: u32::try_from(gate.held()).unwrap_or(0),
            paused_until: None,
            rate: None,
            is_out_of_tokens: false,
            next_token_at: None,
            per_minute: gate.pace.per_minute(now),
            weight: u32::from(gate.weight),
        };
        if let Some(meter) = self.meter_of(at)? {
            state.paused_until = meter.is_paused(now).then_some(meter.paused_until());
            state.rate = meter.rate();
            state.is_out_of_tokens = meter.tokens(now) <= meter.reserved_tokens();
            state.next_token_at = meter.opens_at();
        }
        Ok(Some(state))
    }

    /// Those of the gates of a lane whose settings have to be read; a key of 0 fills the rest.
    pub fn unread_gates(&self, spec: &LaneSpec) -> Step<Option<[UnknownGate; MAX_GATES]>> {
        let mut gates = [NONE; MAX_GATES];
        for (slot, kind) in gates.iter_mut().zip(GateKind::ALL) {
            if spec.key_of(kind) != 0 {
                *slot = self.find_gate(kind, spec.key_of(kind))?.unwrap_or(NONE);
            }
        }
        self.unknown_gates(&gates)
    }

    /// Where the available jobs of a lane begin, at or before the first; the least position if the lane is not in memory.
    pub fn head_of(&self, spec: &LaneSpec) -> Step<i64> {
        match self.find_lane(spec.lane)? {
            Some(lane) => Ok(self.entry(lane)?.head),
            None => Ok(i64::MIN),
        }
    }

    pub fn has_lane(&self, spec: &LaneSpec) -> Step<bool> {
        Ok(self.find_lane(spec.lane)?.is_some())
    }

    /// Whether a queue was claimed from in the last minute, as far as is known.
    pub fn is_claimed_lately(&self, queue: u64) -> Step<bool> {
        let now = self.header.clock.now;
        let since = now.saturating_sub(MINUTE);
        if self.header.clock.claimed_at > since || self.header.vain_claims.is_after(queue, since) {
            return Ok(true);
        }
        let gate = self.find_gate(GateKind::Queue, queue)?;
        gate.map_or(Ok(false), |at| Ok(self.gate(at)?.pace.is_recent(now)))
    }

    /// Up to `most` lanes of a session, with their heads.
    pub fn lanes_of_session(&self, session: u64, most: usize) -> Step<Vec<(LaneSpec, i64)>> {
        let mut found = Vec::new();
        let Some(gate) = self.find_gate(GateKind::Session, session)? else {
            return Ok(found);
        };
        let node = self.gate(gate)?.first_node();
        if node == NONE {
            return Ok(found);
        }
        let mut left = vec![self.node(node)?.root];
        while let Some(at) = left.pop() {
            if at == NONE || found.len() >= most {
                continue;
            }
            let entry = self.entry(at)?;
            found.push((self.spec_of(at)?, entry.head));
            left.extend([entry.left, entry.right]);
        }
        Ok(found)
    }

    /// Whether a job comes before another one of the same queue, if both may start.
    pub fn comes_before(&self, one: &JobPlace, other: &JobPlace) -> Step<bool> {
        Ok(self.rank_of_job(one)? < self.rank_of_job(other)?)
    }

    fn rank_of_job(&self, job: &JobPlace) -> Step<Rank> {
        let level = self.level(job.spec.queue, job.spec.priority, job.position)?;
        let tag = match self.find_tenant(job.spec)? {
            Some(tenant) => self.tag_of(tenant, level)?,
            None => 0,
        };
        Ok(Rank {
            level,
            tag,
            head: job.position,
        })
    }

    /// Whether tenants share the starts of a queue by weight.
    pub fn is_shared_by_weight(&self, queue: u64) -> Step<bool> {
        self.is_fair_queue(queue)
    }

    /// The gates of a lane that are closed.
    pub fn closed_gates(&self, spec: &LaneSpec) -> Step<Vec<GateState>> {
        let mut closed = Vec::new();
        for (kind, key) in spec.gates() {
            let state = self.gate_state(kind, key)?;
            closed.extend(state.filter(|state| !state.is_open()));
        }
        Ok(closed)
    }

    /// Up to `most` lanes of the queue, or of all queues, so chosen that none is preferred.
    pub fn some_lanes(&self, queue: u64, most: u32) -> Step<LaneSample<(LaneSpec, i64)>> {
        let in_queue = match queue {
            EVERY_QUEUE => None,
            queue => match self.find_queue(queue)? {
                Some(node) => Some(node),
                None => return Ok(LaneSample::default()),
            },
        };
        if let Some(node) = in_queue
            && self.node(node)?.lanes <= most
        {
            return self.all_lanes_of(node);
        }
        let slots = self.lanes.touched();
        let each = slots.end().div_ceil(most.max(1)).max(1);
        let mut sample = LaneSample {
            lanes: Vec::new(),
            each,
        };
        for at in slots.skip(each as usize / 2).step_by(each as usize) {
            if self.is_lane(at)? && in_queue.is_none_or(|node| self.queue_of(at) == Ok(node)) {
                sample.lanes.push((self.spec_of(at)?, self.entry(at)?.head));
            }
        }
        Ok(sample)
    }

    fn all_lanes_of(&self, queue: u32) -> Step<LaneSample<(LaneSpec, i64)>> {
        let mut lanes = Vec::new();
        let mut at = self.node(queue)?.index_next;
        while at != NONE {
            if lanes.len() > self.lanes.slots.len() {
                return Err(Fault::Corrupt("the list of a queue's lanes has a cycle"));
            }
            lanes.push((self.spec_of(at)?, self.entry(at)?.head));
            at = self.lane(at)?.queue_next;
        }
        Ok(LaneSample { lanes, each: 1 })
    }

    /// Lanes that pass a gate of the job's lane and may have jobs that come before it: those of its queue, and of others
    /// that it shares a tenant, an account, a batch or a key with.
    pub fn lanes_ahead(&self, job: &JobPlace, most: u32) -> Step<[LaneSample<LaneAhead>; 2]> {
        let mut own = LaneSample::default();
        let mut others = LaneSample::default();
        let found = self.some_lanes(job.spec.queue, most)?;
        own.each = found.each;
        for (spec, head) in found.lanes {
            let before = self.first_behind(&spec, job)?;
            own.lanes.extend(self.lane_ahead(job, spec, head, before)?);
        }
        let found = match self.header.queues.count > 1 {
            true => self.some_lanes(EVERY_QUEUE, most)?,
            false => LaneSample::default(),
        };
        others.each = found.each;
        for (spec, head) in found.lanes {
            let shares =
                |kind| job.spec.key_of(kind) != 0 && job.spec.key_of(kind) == spec.key_of(kind);
            if spec.queue != job.spec.queue && GateKind::ALL.into_iter().any(shares) {
                let before = match spec.priority.cmp(&job.spec.priority) {
                    std::cmp::Ordering::Less => i64::MAX,
                    std::cmp::Ordering::Equal => job.position,
                    std::cmp::Ordering::Greater => i64::MIN,
                };
                others
                    .lanes
                    .extend(self.lane_ahead(job, spec, head, before)?);
            }
        }
        Ok([own, others])
    }

    /// The first position of a lane of the job's queue from which on its jobs come later, whatever their tenants have had.
    fn first_behind(&self, spec: &LaneSpec, job: &JobPlace) -> Step<i64> {
        let Some(queue) = self.find_queue(spec.queue)? else {
            return Ok(i64::MIN);
        };
        let level = i64::from(self.level(spec.queue, job.spec.priority, job.position)?);
        let begins = self.first_with_priority(spec.priority, queue, level)?;
        let ends = self.first_with_priority(spec.priority, queue, level + 1)?;
        Ok(begins.max(ends.min(job.position)))
    }

    fn lane_ahead(
        &self,
        job: &JobPlace,
        spec: LaneSpec,
        head: i64,
        before: i64,
    ) -> Step<Option<LaneAhead>> {
        let is_of_interest = spec.lane != job.spec.lane && head < before;
        if !is_of_interest && !armed(Seeded::CountWhatComesLater) {
            return Ok(None);
        }
        let mut is_held_up = false;
        for (kind, key) in spec.gates() {
            if key != job.spec.key_of(kind)
                && let Some(at) = self.find_gate(kind, key)?
            {
                is_held_up |= !self.gate_is_open(at)?;
            }
        }
        Ok(Some(LaneAhead {
            spec,
            head,
            before,
            is_held_up,
        }))
    }

    /// About how many lanes of a queue, or of one of its tenants, are outside. EVERY_QUEUE stands for all.
    pub fn lanes_outside_of(&self, queue: u64, tenant: Option<u64>) -> Step<u64> {
        let mut lanes = 0;
        for at in self.outside.touched() {
            let record = self.outside.get(at)?;
            let is_meant = record.id != 0
                && (queue == EVERY_QUEUE || record.queue == queue)
                && tenant.is_none_or(|it| !record.is_of_queue && record.tenant == it);
            if is_meant {
                lanes += u64::from(record.round.lanes());
            }
        }
        Ok(lanes)
    }
}
