//! Nodes come with the first lane that refers to them and go with the last.
//!
//! A node is known by its gate and the node above it; a bundle by its concurrency key's node and its home. The gate of
//! a queue or a session has no other node, so those need no index.

use crate::{Entry, Fault, Kind, NONE, Node, Scheduler, Step};

/// By what the index finds it; none where the gate is enough.
fn index_key(kind: Kind, behind: u32, above: u32) -> Option<u64> {
    match kind {
        Kind::Queue | Kind::Session => None,
        _ => Some(u64::from(behind) << 32 | u64::from(above) ^ (kind as u64) << 56),
    }
}

impl Scheduler<'_> {
    /// `behind` is the gate, of a bundle the node of the key; `above` the next node above.
    pub(crate) fn find_node(&self, kind: Kind, behind: u32, above: u32) -> Step<Option<u32>> {
        let Some(key) = index_key(kind, behind, above) else {
            let first = self.gate(behind)?.first_node();
            return Ok((first != NONE).then_some(first));
        };
        let found = self.nodes.find(key, |slot, node| {
            let entry = self.entry(self.entry_of_node(slot));
            let known_by = match kind {
                Kind::Bundle => node.other,
                _ => node.gate,
            };
            known_by == behind && entry.is_ok_and(|it| (it.kind, it.home) == (kind, above))
        })?;
        Ok(found.map(|slot| self.entry_of_node(slot)))
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

    /// What [`Self::find_node`] finds it by.
    pub(crate) fn identity(&self, at: u32) -> Step<(Kind, u32, u32)> {
        let (entry, node) = (self.entry(at)?, self.node(at)?);
        Ok(match entry.kind {
            Kind::Bundle => (Kind::Bundle, node.other, entry.home),
            Kind::Session => (Kind::Session, node.gate, node.other),
            kind => (kind, node.gate, entry.home),
        })
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
