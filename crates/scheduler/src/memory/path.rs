//! The path from a lane up to its queue: the nodes, and their gates.

use crate::memory::entry::Kind;
use crate::memory::gate::MOST_GATES;
use crate::memory::lane::{Lane, LaneSpec};
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{Fault, NONE, Step};

/// Steps from a lane up to its queue, at most: more are a cycle.
pub(crate) const DEEPEST_NODE: u32 = 8;

/// The nodes that a lane refers to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Way {
    pub queue: u32,
    pub tenant: u32,
    pub account: u32,
    pub session: u32,
    pub concurrency: u32,
    pub unique: u32,
    pub bundle: u32,
}

impl Way {
    /// Those that may have a gate, in the order of [`GateKind::ALL`].
    pub fn nodes(&self) -> [u32; MOST_GATES] {
        [
            self.queue,
            self.tenant,
            self.account,
            self.session,
            self.concurrency,
            self.unique,
        ]
    }

    /// Each after those that it hangs below.
    pub fn downwards(&self) -> impl DoubleEndedIterator<Item = u32> + use<> {
        [
            self.queue,
            self.tenant,
            self.account,
            self.concurrency,
            self.bundle,
            self.unique,
            self.session,
        ]
        .into_iter()
        .filter(|&node| node != NONE)
    }

    /// Where the lane waits unless its session does it for it.
    pub fn home(&self) -> u32 {
        let nodes = [self.unique, self.bundle, self.account, self.tenant];
        nodes.into_iter().find(|&node| node != NONE).unwrap_or(NONE)
    }
}

/// The gates of a lane's nodes, in the order of [`GateKind::ALL`].
pub(crate) type Gates = [u32; MOST_GATES];

impl Scheduler<'_> {
    pub(crate) fn way_of(&self, lane: u32) -> Step<Way> {
        let mut way = Way {
            session: self.lane(lane)?.session,
            ..Way::default()
        };
        let mut at = self.entry(lane)?.home;
        for _ in 0..DEEPEST_NODE {
            let entry = self.entry(at)?;
            match entry.kind {
                Kind::Tenant => {
                    (way.tenant, way.queue) = (at, entry.home);
                    return Ok(way);
                }
                Kind::Account => way.account = at,
                Kind::Unique => way.unique = at,
                Kind::Bundle => (way.bundle, way.concurrency) = (at, self.node(at)?.other),
                _ => break,
            }
            at = entry.home;
        }
        Err(Fault::Corrupt("a lane is below no tenant"))
    }

    pub(crate) fn gates_of(&self, way: &Way) -> Step<Gates> {
        let mut gates = [NONE; MOST_GATES];
        for (gate, node) in gates.iter_mut().zip(way.nodes()) {
            if node != NONE {
                *gate = self.node(node)?.gate;
            }
        }
        Ok(gates)
    }

    pub(crate) fn spec_of(&self, lane: u32) -> Step<LaneSpec> {
        self.spec_behind(lane, &self.gates_of(&self.way_of(lane)?)?)
    }

    pub(crate) fn spec_behind(&self, lane: u32, gates: &Gates) -> Step<LaneSpec> {
        let mut keys = [0; MOST_GATES];
        for (key, &gate) in keys.iter_mut().zip(gates) {
            if gate != NONE {
                *key = self.gate(gate)?.key;
            }
        }
        let [queue, tenant, account, session, concurrency, unique] = keys;
        let Lane { key, priority, .. } = *self.lane(lane)?;
        Ok(LaneSpec {
            lane: key,
            queue,
            tenant,
            account,
            session,
            concurrency,
            unique,
            priority,
        })
    }

    /// The tenant's node that an entry is below, or is.
    pub(crate) fn tenant_of(&self, of: u32) -> Step<u32> {
        let mut at = of;
        for _ in 0..DEEPEST_NODE {
            let entry = self.entry(at)?;
            at = match entry.kind {
                Kind::Tenant => return Ok(at),
                Kind::Session => return Ok(self.node(at)?.other),
                Kind::Account | Kind::Unique | Kind::Bundle | Kind::Lane => entry.home,
                _ => break,
            };
        }
        Err(Fault::Corrupt("an entry is below no tenant"))
    }

    pub(crate) fn queue_of(&self, of: u32) -> Step<u32> {
        Ok(self.entry(self.tenant_of(of)?)?.home)
    }

    /// The key of a node's gate; 0 for that of the jobs without tenant.
    pub(crate) fn key_behind(&self, node: u32) -> Step<u64> {
        match self.node(node)?.gate {
            NONE => Ok(0),
            gate => Ok(self.gate(gate)?.key),
        }
    }
}
