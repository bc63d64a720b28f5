//! What the scheduler says of itself, and that each pick is what a scan over all lanes returns.

use std::collections::HashMap;
use std::rc::Rc;

use turnstile_scheduler::{
    Credit, EVERY_QUEUE, GateKind, GateView, LaneSpec, LaneView, Limit, Pick, Picked,
};

use super::Checked;
use super::aging::level_now;
use super::arena::{Arena, At};
use super::fairness::{Fairness, cost};
use super::table::{Row, most};

pub type GateKey = (u8, u64);

/// What the scheduler says of itself.
pub struct Known {
    now: i64,
    /// By queue, the level at which a job of priority 0 begins to wait.
    levels_now: HashMap<u64, i32>,
    pub lanes: Vec<LaneView>,
    pub gates: HashMap<GateKey, GateView>,
    credits: Vec<Credit>,
    /// Sessions that may be blocked by a job that another transaction has locked.
    blocked: Vec<u64>,
    fairness: Fairness,
    /// The queues that a claim from all of them is limited to.
    only: Option<Rc<[u64]>>,
}

impl Known {
    pub fn read(
        arena: &mut Arena,
        now: i64,
        credits: &[Credit],
        blocked: Vec<u64>,
    ) -> Checked<Self> {
        let scheduler = arena.scheduler();
        let mut lanes = Vec::new();
        for slot in scheduler.lane_slots() {
            lanes.extend(scheduler.lane_at(slot).at("lane_at")?);
        }
        let mut gates = HashMap::new();
        for slot in scheduler.gate_slots() {
            if let Some(gate) = scheduler.gate_at(slot).at("gate_at")? {
                gates.insert((gate.kind as u8, gate.key), gate);
            }
        }
        let mut levels_now = HashMap::new();
        for lane in &lanes {
            let queue = lane.spec.queue;
            let gate: Option<&GateView> = gates.get(&(GateKind::Queue as u8, queue));
            let aging = gate.map_or(0, |gate| 1_000 * i64::from(gate.aging));
            levels_now.insert(queue, level_now(&scheduler, aging, now));
        }
        Ok(Self {
            now,
            levels_now,
            lanes,
            gates,
            credits: credits.to_vec(),
            blocked,
            fairness: Fairness::default(),
            only: None,
        })
    }

    pub fn with_fairness(self, fairness: &Fairness) -> Self {
        Self {
            fairness: fairness.clone(),
            ..self
        }
    }

    pub fn limited_to(self, only: &Option<Rc<[u64]>>) -> Self {
        Self {
            only: only.clone(),
            ..self
        }
    }

    pub fn is_fair(&self, queue: u64) -> bool {
        let gate = self.gates.get(&(GateKind::Queue as u8, queue));
        gate.is_some_and(|gate| gate.is_fair)
    }

    pub fn weight(&self, tenant: u64) -> u32 {
        let gate = self.gates.get(&(GateKind::Tenant as u8, tenant));
        gate.map_or(1, |gate| gate.weight)
    }

    fn rank(&self, lane: &LaneView) -> (i32, u64, i64) {
        (lane.level, self.tag(&lane.spec, lane.level), lane.head)
    }

    /// The interval of a queue, in microseconds.
    pub fn aging(&self, queue: u64) -> i64 {
        let gate = self.gates.get(&(GateKind::Queue as u8, queue));
        gate.map_or(0, |gate| 1_000 * i64::from(gate.aging))
    }

    /// The rank of a lane among those of other queues: its level as of now.
    fn among_queues(&self, lane: &LaneView) -> (i32, i64) {
        let now = self.levels_now.get(&lane.spec.queue).copied();
        (lane.level - now.unwrap_or(0), lane.head)
    }

    /// Whether all that waits in the queue is known by its tenant's tag, at this level or behind it.
    pub fn is_plain(&self, spec: &LaneSpec, level: i32) -> bool {
        let mut of_queue = self
            .lanes
            .iter()
            .filter(|lane| lane.spec.queue == spec.queue);
        let has_room = self.room(GateKind::Queue, spec.queue) > 0;
        has_room
            && of_queue.all(|lane| {
                let LaneSpec {
                    session,
                    concurrency,
                    ..
                } = lane.spec;
                (session, concurrency) == (0, 0) && lane.level >= level
            })
    }

    /// The least tag of the tenants that may run at the level.
    pub fn least_tag(&self, spec: &LaneSpec, level: i32) -> Option<u64> {
        let rivals = self
            .eligible(false)
            .filter(|lane| (lane.spec.queue, lane.level) == (spec.queue, level));
        rivals.map(|lane| self.tag(&lane.spec, level)).min()
    }

    fn tag(&self, spec: &LaneSpec, level: i32) -> u64 {
        match self.is_fair(spec.queue) {
            true => self.fairness.tag(spec, level),
            false => 0,
        }
    }

    /// Whether the scheduler knows that the row's lane has a job at its position or before.
    pub fn covers(&self, row: &Row) -> bool {
        let mut lanes = self.lanes.iter();
        lanes.any(|lane| lane.spec.lane == row.spec.lane && lane.head <= row.position)
    }

    pub fn room(&self, kind: GateKind, key: u64) -> u32 {
        let Some(gate) = self.gates.get(&(kind as u8, key)) else {
            return u32::MAX;
        };
        let is_it = |credit: &&Credit| credit.kind == kind && credit.key == key;
        let credit = self.credits.iter().find(is_it).map_or(0, |it| it.count);
        let starts = gate.meter.map_or(u32::MAX, |it| it.starts_left(self.now));
        match gate.limit {
            Limit::Unknown => u32::MAX,
            _ => room_left(gate, credit).min(starts),
        }
    }

    /// Whether all gates of a lane, which may be missing, were open when the scheduler last looked at the clock.
    pub fn has_room(&self, spec: &LaneSpec) -> bool {
        spec.gates().all(|(kind, key)| self.room(kind, key) > 0)
    }

    fn room_of(&self, lane: &LaneView) -> u32 {
        let rooms = lane.spec.gates().map(|(kind, key)| self.room(kind, key));
        rooms.min().unwrap_or(0)
    }

    /// Whether no lane of the lane's session comes before it; `tie` decides between equals.
    fn is_first_of_session(&self, lane: &LaneView, tie: bool) -> bool {
        self.lanes
            .iter()
            .filter(|it| it.spec.session != 0 && it.spec.session == lane.spec.session)
            .filter(|it| it.spec.lane != lane.spec.lane)
            .all(|it| {
                in_session(lane) < in_session(it) || (tie && in_session(lane) == in_session(it))
            })
    }

    /// Lanes that may run; `tie` decides between equals of a session.
    fn eligible(&self, tie: bool) -> impl Iterator<Item = &LaneView> {
        let mut lanes = self.lanes.iter();
        std::iter::from_fn(move || {
            lanes.find(|lane| self.room_of(lane) > 0 && self.is_first_of_session(lane, tie))
        })
    }

    /// Whether a claim from that queue, or from all, may take jobs of the lane.
    fn is_asked(&self, lane: &LaneView, queue: u64) -> bool {
        let only = self.only.as_ref();
        [lane.spec.queue, EVERY_QUEUE].contains(&queue)
            && only.is_none_or(|only| only.contains(&lane.spec.queue))
    }

    /// What each queue that is asked has next, by the order of the queue.
    fn next_of_queues(&self, queue: u64) -> Vec<&LaneView> {
        let mut next: HashMap<u64, &LaneView> = HashMap::new();
        let open = self
            .eligible(false)
            .filter(|lane| self.is_asked(lane, queue));
        for lane in open.filter(|lane| !self.blocked.contains(&lane.spec.session)) {
            let first = next.entry(lane.spec.queue).or_insert(lane);
            if self.rank(lane) < self.rank(first) {
                *first = lane;
            }
        }
        next.into_values().collect()
    }

    /// Of queues it is the level and the position of what is next there that decides.
    fn comes_before(&self, other: &LaneView, lane: &LaneView) -> bool {
        match other.spec.queue == lane.spec.queue {
            true => self.rank(other) < self.rank(lane),
            false => self.among_queues(other) < self.among_queues(lane),
        }
    }

    /// Every pick is what a scan over all lanes returns; `wanted` jobs can be reserved.
    pub fn check_pick(&self, queue: u64, wanted: usize, pick: &Pick) -> Checked {
        let next = self.next_of_queues(queue);
        let picked = match pick {
            Pick::Exhausted => return Ok(()),
            Pick::Nothing => {
                return match next.first() {
                    None => Ok(()),
                    Some(lane) => Err(format!("nothing was picked, {lane:?} may run")),
                };
            }
            Pick::Unknown(_, gates) => {
                let mut missing = gates.iter().filter(|gate| gate.key != 0);
                let unknown = missing
                    .next()
                    .and_then(|gate| self.gates.get(&(gate.kind as u8, gate.key)));
                return match unknown {
                    Some(gate) if gate.limit == Limit::Unknown => Ok(()),
                    _ => Err("a known limit was asked for".into()),
                };
            }
            Pick::Lane(picked) => picked,
        };
        let is_unread = |lane: &&LaneView| {
            let gate = self.gates.get(&(GateKind::Queue as u8, lane.spec.queue));
            gate.is_some_and(|gate| gate.limit == Limit::Unknown)
        };
        if let Some(lane) = next.iter().copied().find(is_unread) {
            return Err(format!(
                "{picked:?} comes before it is known whether {lane:?} ages"
            ));
        }
        if picked.reserved == 0 {
            return self.check_look(picked, &next);
        }
        let mut of_picked = self.eligible(true);
        let lane = of_picked
            .find(|lane| lane.spec == picked.spec)
            .ok_or_else(|| format!("{picked:?} may not run"))?;
        let tag = match self.is_fair(picked.spec.queue) {
            true => self.fairness.tag_when_served(&picked.spec, picked.level),
            false => 0,
        };
        if (picked.level, picked.tag) != (lane.level, tag) {
            return Err(format!("{picked:?} has another tag"));
        }
        let better = next.iter().find(|other| self.comes_before(other, lane));
        if lane.head != picked.head || better.is_some() {
            return Err(format!("{picked:?} is not the best, {better:?} is"));
        }
        let most = wanted.min(self.room_of(lane) as usize);
        let is_right = match self.starts_due(picked) {
            None => picked.reserved == most,
            // A key group that waits at its key may have been due earlier than it is.
            Some(due) => picked.reserved <= most.min(due),
        };
        if !is_right {
            return Err(format!(
                "{picked:?} does not reserve what there is room for"
            ));
        }
        self.check_bound(&next, picked)
    }

    /// Starts that the picked lane's tenant has before another is due, if its queue shares among tenants.
    fn starts_due(&self, picked: &Picked) -> Option<usize> {
        if !self.is_fair(picked.spec.queue) {
            return None;
        }
        let rivals = self.eligible(false).filter(|lane| {
            !self.blocked.contains(&lane.spec.session)
                && lane.spec.queue == picked.spec.queue
                && lane.spec.tenant != picked.spec.tenant
                && lane.level == picked.level
        });
        let Some(tag) = rivals.map(|lane| self.tag(&lane.spec, lane.level)).min() else {
            return Some(usize::MAX);
        };
        let ahead = tag.saturating_sub(self.tag(&picked.spec, picked.level));
        let starts = ahead.div_ceil(cost(self.weight(picked.spec.tenant)));
        Some(starts.max(1) as usize)
    }

    /// A look is asked for at the first lane of a session that waits at a closed gate.
    fn check_look(&self, picked: &Picked, next: &[&LaneView]) -> Checked {
        let mut lanes = self.lanes.iter();
        let lane = lanes.find(|lane| lane.spec == picked.spec);
        let lane = lane.ok_or_else(|| format!("{picked:?} is not known"))?;
        let waits = lane.spec.session != 0
            && self.is_first_of_session(lane, true)
            && self.room(GateKind::Session, lane.spec.session) > 0
            && self.room_of(lane) == 0;
        let may_be_first = |other: &&LaneView| {
            // Whatever a fair queue has next may come first as long as it is not known.
            let is_open = self.is_fair(lane.spec.queue) && other.spec.queue != lane.spec.queue;
            !self.comes_before(other, lane)
                || is_open && self.among_queues(lane).0 <= self.among_queues(other).0
        };
        match waits && next.iter().all(may_be_first) {
            true => Ok(()),
            false => Err(format!("{picked:?} needs no look")),
        }
    }

    /// In a fair queue, a key group that waits at its key, with the tag with which it came, may seem to be
    /// next.
    fn is_sure_to_be_next(&self, spec: &LaneSpec) -> bool {
        let mut of_queue = self.lanes.iter().filter(|it| it.spec.queue == spec.queue);
        !self.is_fair(spec.queue) || of_queue.all(|it| it.spec.concurrency == 0)
    }

    /// No job may be taken that comes behind the head of another lane that may run, or of a lane of
    /// the same session. Of other queues only what is next there counts.
    fn check_bound(&self, next: &[&LaneView], picked: &Picked) -> Checked {
        let of_session = self
            .lanes
            .iter()
            .filter(|lane| picked.spec.session != 0 && lane.spec.session == picked.spec.session);
        let of_queue = self
            .eligible(false)
            .filter(|lane| lane.spec.queue == picked.spec.queue)
            .filter(|lane| !self.blocked.contains(&lane.spec.session));
        let of_others = next.iter().copied();
        let now = |queue| self.levels_now.get(&queue).copied().unwrap_or(0);
        let of_others = of_others.filter(|lane| lane.spec.queue != picked.spec.queue);
        let of_others = of_others.filter(|lane| self.is_sure_to_be_next(&lane.spec));
        let level = picked.level - now(picked.spec.queue);
        let of_others = of_others.filter(|lane| self.among_queues(lane).0 == level);
        let overtaken = of_session
            .chain(of_queue)
            .filter(|lane| {
                let is_same_tenant = lane.spec.tenant == picked.spec.tenant;
                let tag = self.tag(&picked.spec, picked.level);
                is_same_tenant || self.tag(&lane.spec, lane.level) <= tag
            })
            .filter(|lane| lane.level == picked.level)
            .chain(of_others)
            .filter(|lane| lane.spec.lane != picked.spec.lane)
            .find(|lane| picked.bound.is_none_or(|bound| bound > lane.head + 1));
        match overtaken {
            None => Ok(()),
            Some(lane) => Err(format!("{picked:?} may overtake {lane:?}")),
        }
    }
}

fn room_left(gate: &GateView, credit: u32) -> u32 {
    let room = i64::from(most(gate.limit)) + i64::from(credit) - i64::from(gate.held);
    u32::try_from(room.max(0)).unwrap_or(u32::MAX)
}

fn in_session(lane: &LaneView) -> (i32, i64) {
    (lane.level, lane.head)
}
