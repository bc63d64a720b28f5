//! Nodes are made with the first lane that refers to them and go with the last.
//!
//! A node is known by its gate and the node above it. A key group is known by the node of its concurrency key and its
//! home. The gate of a queue or a session has no other node, so these nodes need no index.

use crate::memory::entry::{Entry, Kind};
use crate::memory::gate::GateKind;
use crate::memory::lane::LaneSpec;
use crate::memory::node::{Node, index_key};
use crate::memory::path::LanePath;
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{Fault, NONE, Step};

impl Scheduler<'_> {
    /// Makes the nodes of a lane that do not exist yet.
    pub(crate) fn make_path(&mut self, spec: &LaneSpec) -> Step<LanePath> {
        let mut path = LanePath::default();
        for kind in GateKind::DOWNWARDS {
            match kind {
                GateKind::Session => path.session = self.node_for(kind, spec, path.tenant)?,
                GateKind::Concurrency => {
                    path.concurrency = self.node_for(kind, spec, path.queue)?;
                    if path.concurrency != NONE {
                        let (behind, above) = (path.concurrency, path.home);
                        let group = self.find_or_make_node(Kind::KeyGroup, behind, above)?;
                        path.go_down(Kind::KeyGroup, group);
                    }
                }
                _ => {
                    let node = self.node_for(kind, spec, path.home)?;
                    path.go_down(Kind::of_gate(kind), node);
                }
            }
        }
        Ok(path)
    }

    /// Jobs without a tenant have a tenant node too, but one without a gate.
    fn node_for(&mut self, kind: GateKind, spec: &LaneSpec, above: u32) -> Step<u32> {
        let gate = match spec.key_of(kind) {
            0 if kind != GateKind::Tenant => return Ok(NONE),
            0 => NONE,
            key => self.find_or_make_gate(kind, key)?,
        };
        self.find_or_make_node(Kind::of_gate(kind), gate, above)
    }

    pub(crate) fn find_or_make_node(&mut self, kind: Kind, behind: u32, above: u32) -> Step<u32> {
        match self.find_node(kind, behind, above)? {
            Some(at) => Ok(at),
            None => self.make_node(kind, behind, above),
        }
    }

    fn make_node(&mut self, kind: Kind, behind: u32, above: u32) -> Step<u32> {
        let (gate, other, home) = match kind {
            Kind::KeyGroup => (NONE, behind, above),
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
        match kind {
            Kind::Queue => self.add_queue(at)?,
            Kind::Unread | Kind::Aging => self.link_top(at)?,
            _ => {}
        }
        Ok(at)
    }

    /// A new lane refers to the node. For a session, notes whether its lanes differ in more than priority.
    pub(crate) fn add_node_reference(&mut self, at: u32, lanes_home: u32) -> Step<()> {
        let node = self.node_mut(at)?;
        let before = node.lanes;
        node.lanes = before.saturating_add(1);
        let entry = self.entry_mut(at)?;
        match entry.kind {
            Kind::Tenant => self.resize_tenant(at, before, before.saturating_add(1))?,
            Kind::Session if before == 0 => entry.home = lanes_home,
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
        let left = node.lanes;
        if self.entry(at)?.kind == Kind::Tenant {
            self.resize_tenant(at, left.saturating_add(1), left)?;
        }
        if left > 0 {
            return Ok(());
        }
        let has_members = self.node(at)?.root != NONE;
        if has_members || self.entry(at)?.is_placed() {
            return Err(Fault::Corrupt("a node without lanes is in use"));
        }
        let (kind, behind, above) = self.identity(at)?;
        match kind {
            Kind::Queue => self.remove_queue(at)?,
            Kind::Unread | Kind::Aging => self.unlink_top(at)?,
            _ => {}
        }
        self.detach_from_gate(at)?;
        let slot = self.node_slot(at)?;
        self.nodes.remove(slot, index_key(kind, behind, above))?;
        Ok(())
    }
}
