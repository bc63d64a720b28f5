//! The path from a lane up to its queue: the nodes, and their gates.

use crate::memory::entry::Kind;
use crate::memory::gate::{GateKind, MAX_GATES, for_each_kind};
use crate::memory::lane::{Lane, LaneSpec};
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{Fault, NONE, Step};

/// The most steps from a lane up to its queue. More are a cycle.
pub(crate) const MAX_NODE_DEPTH: u32 = MAX_GATES as u32 + 2;

macro_rules! lane_path {
    ($($kind:ident: $name:ident,)*) => {
        /// The nodes that a lane refers to.
        #[derive(Clone, Copy, Debug, Default)]
        pub(crate) struct LanePath {
            $(pub $name: u32,)*
            pub key_group: u32,
            /// Where the lane waits, unless its session waits for it: the last of the levels that it has.
            pub home: u32,
        }

        impl LanePath {
            /// The nodes that may have a gate, in the order of [`GateKind::ALL`].
            pub fn nodes(&self) -> [u32; MAX_GATES] {
                [$(self.$name),*]
            }

            fn node(&self, kind: GateKind) -> u32 {
                match kind {
                    $(GateKind::$kind => self.$name,)*
                }
            }

            /// Where the node of an entry is noted, if it has one.
            fn node_mut(&mut self, kind: Kind) -> Option<&mut u32> {
                match kind {
                    $(Kind::$kind => Some(&mut self.$name),)*
                    Kind::KeyGroup => Some(&mut self.key_group),
                    Kind::Free | Kind::Unread | Kind::Aging | Kind::Lane => None,
                }
            }
        }
    };
}
for_each_kind!(lane_path);

impl LanePath {
    fn note(&mut self, kind: Kind, node: u32) {
        if let Some(noted) = self.node_mut(kind) {
            *noted = node;
        }
    }

    /// Goes down to the node of the next level, if the lane has one there.
    pub fn go_down(&mut self, kind: Kind, node: u32) {
        if node != NONE {
            self.note(kind, node);
            self.home = node;
        }
    }

    /// All nodes, each after those above it.
    pub fn downwards(&self) -> impl DoubleEndedIterator<Item = u32> + use<> {
        let path = *self;
        let nodes = move |kind| match kind {
            GateKind::Concurrency => [path.concurrency, path.key_group],
            kind => [path.node(kind), NONE],
        };
        let nodes = GateKind::DOWNWARDS.into_iter().flat_map(nodes);
        nodes.filter(|&node| node != NONE)
    }
}

/// The gates of a lane's nodes, in the order of [`GateKind::ALL`].
pub(crate) type Gates = [u32; MAX_GATES];

impl Scheduler<'_> {
    pub(crate) fn path_of(&self, lane: u32) -> Step<LanePath> {
        let mut path = LanePath {
            session: self.lane(lane)?.session,
            home: self.entry(lane)?.home,
            ..LanePath::default()
        };
        let mut at = path.home;
        for _ in 0..MAX_NODE_DEPTH {
            let entry = self.entry(at)?;
            match entry.kind {
                Kind::Tenant => {
                    (path.tenant, path.queue) = (at, entry.home);
                    return Ok(path);
                }
                Kind::KeyGroup => (path.key_group, path.concurrency) = (at, self.node(at)?.other),
                Kind::Free | Kind::Queue | Kind::Session | Kind::Concurrency | Kind::Lane => break,
                kind => path.note(kind, at),
            }
            at = entry.home;
        }
        Err(Fault::Corrupt("a lane is below no tenant"))
    }

    /// The node of a lane's tenant, if there is one.
    pub(crate) fn find_tenant(&self, spec: &LaneSpec) -> Step<Option<u32>> {
        let Some(queue) = self.find_queue(spec.queue)? else {
            return Ok(None);
        };
        match spec.tenant {
            0 => self.find_node(Kind::Tenant, NONE, queue),
            key => match self.find_gate(GateKind::Tenant, key)? {
                Some(gate) => self.find_node(Kind::Tenant, gate, queue),
                None => Ok(None),
            },
        }
    }

    pub(crate) fn gates_of(&self, path: &LanePath) -> Step<Gates> {
        let mut gates = [NONE; MAX_GATES];
        for (gate, node) in gates.iter_mut().zip(path.nodes()) {
            if node != NONE {
                *gate = self.node(node)?.gate;
            }
        }
        Ok(gates)
    }

    pub(crate) fn spec_of(&self, lane: u32) -> Step<LaneSpec> {
        self.spec_behind(lane, &self.gates_of(&self.path_of(lane)?)?)
    }

    pub(crate) fn spec_behind(&self, lane: u32, gates: &Gates) -> Step<LaneSpec> {
        let Lane { key, priority, .. } = *self.lane(lane)?;
        let mut spec = LaneSpec {
            lane: key,
            priority,
            ..LaneSpec::default()
        };
        for (kind, &gate) in GateKind::ALL.into_iter().zip(gates) {
            if gate != NONE {
                *spec.key_mut(kind) = self.gate(gate)?.key;
            }
        }
        Ok(spec)
    }

    /// The node of the tenant: the entry itself, or one above it.
    pub(crate) fn tenant_of(&self, of: u32) -> Step<u32> {
        let mut at = of;
        for _ in 0..MAX_NODE_DEPTH {
            let entry = self.entry(at)?;
            at = match entry.kind {
                Kind::Tenant => return Ok(at),
                Kind::Session => return Ok(self.node(at)?.other),
                Kind::Free | Kind::Queue | Kind::Concurrency => break,
                _ => entry.home,
            };
        }
        Err(Fault::Corrupt("an entry is below no tenant"))
    }

    pub(crate) fn queue_of(&self, of: u32) -> Step<u32> {
        Ok(self.entry(self.tenant_of(of)?)?.home)
    }

    /// The key of a node's gate; 0 for jobs without a tenant.
    pub(crate) fn key_behind(&self, node: u32) -> Step<u64> {
        match self.node(node)?.gate {
            NONE => Ok(0),
            gate => Ok(self.gate(gate)?.key),
        }
    }
}
