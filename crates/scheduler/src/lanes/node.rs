//! Nodes are made with the first lane that refers to them and go with the last.
//!
//! A node is known by its gate and the node above it; a bundle is known by the node of its concurrency key and its home. The gate
//! of a queue or a session has no other node, so these nodes need no index.

use crate::memory::access::index_key;
use crate::memory::entry::{Entry, Kind};
use crate::memory::gate::GateKind;
use crate::memory::lane::LaneSpec;
use crate::memory::node::Node;
use crate::memory::path::Way;
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{Fault, NONE, Step};

impl Scheduler<'_> {
    /// Makes the nodes of a lane as far as there are none.
    pub(crate) fn make_way(&mut self, spec: &LaneSpec) -> Step<Way> {
        let mut way = Way {
            queue: self.node_for(GateKind::Queue, spec, NONE)?,
            ..Way::default()
        };
        way.tenant = self.node_for(GateKind::Tenant, spec, way.queue)?;
        way.account = self.node_for(GateKind::Account, spec, way.tenant)?;
        way.session = self.node_for(GateKind::Session, spec, way.tenant)?;
        way.concurrency = self.node_for(GateKind::Concurrency, spec, way.queue)?;
        if way.concurrency != NONE {
            way.bundle = self.find_or_make_node(Kind::Bundle, way.concurrency, way.home())?;
        }
        way.unique = self.node_for(GateKind::Unique, spec, way.home())?;
        Ok(way)
    }

    /// Jobs without tenant have a node of their own, too, but no gate.
    fn node_for(&mut self, kind: GateKind, spec: &LaneSpec, above: u32) -> Step<u32> {
        let gate = match spec.key_of(kind) {
            0 if kind != GateKind::Tenant => return Ok(NONE),
            0 => NONE,
            key => self.find_or_make_gate(kind, key)?,
        };
        self.find_or_make_node(kind.node(), gate, above)
    }

    pub(crate) fn find_or_make_node(&mut self, kind: Kind, behind: u32, above: u32) -> Step<u32> {
        match self.find_node(kind, behind, above)? {
            Some(at) => Ok(at),
            None => self.make_node(kind, behind, above),
        }
    }

    fn make_node(&mut self, kind: Kind, behind: u32, above: u32) -> Step<u32> {
        let (gate, other, home) = match kind {
            Kind::Bundle => (NONE, behind, above),
            Kind::Session => (behind, above, NONE),
            _ => (behind, NONE, above),
        };
        let node = Node {
            other,
            ..Node::default()
        };
        let slot = self.nodes.insert(node, index_key(kind, behind, above))?;
        let at = self.entry_of_node(slot);
        *self.entry_mut(at)? = Entry {
            kind,
            home,
            ..Entry::default()
        };
        if gate != NONE {
            self.attach_to_gate(at, gate)?;
        }
        if kind == Kind::Queue {
            self.link_queue(at)?;
        }
        Ok(at)
    }

    /// A new lane refers to the node; a session hears what its lanes differ in.
    pub(crate) fn add_node_reference(&mut self, at: u32, lanes_home: u32) -> Step<()> {
        let node = self.node_mut(at)?;
        let is_first = node.lanes == 0;
        node.lanes = node.lanes.saturating_add(1);
        let entry = self.entry_mut(at)?;
        match entry.kind {
            Kind::Session if is_first => entry.home = lanes_home,
            Kind::Session if entry.home != lanes_home => entry.set_mixed(),
            _ => {}
        }
        Ok(())
    }

    pub(crate) fn drop_node_reference(&mut self, at: u32) -> Step<()> {
        let node = self.node_mut(at)?;
        node.lanes = node
            .lanes
            .checked_sub(1)
            .ok_or(Fault::Corrupt("a node counts fewer lanes than it has"))?;
        if node.lanes > 0 {
            return Ok(());
        }
        let has_members = node.root != NONE;
        if has_members || self.entry(at)?.is_placed() {
            return Err(Fault::Corrupt("a node without lanes is in use"));
        }
        let (kind, behind, above) = self.identity(at)?;
        if kind == Kind::Queue {
            self.unlink_queue(at)?;
        }
        self.detach_from_gate(at)?;
        let slot = self.node_slot(at)?;
        self.nodes.remove(slot, index_key(kind, behind, above))?;
        *self.entry_mut(at)? = Entry::default();
        Ok(())
    }
}
