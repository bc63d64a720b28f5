//! The heap of each node: a leftist heap ([`Leftist`]) of the entries that wait there.
//!
//! Most members come with the last rank of all, because positions ascend. A member that ranks after the member that came
//! last is linked below that one if nothing else is. A heap to which only such members come is a list.

use crate::memory::entry::{Entry, Kind};
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{Fault, NONE, Step};
use crate::testing::faults::{Seeded, armed};
use crate::tree::leftist::{Leftist, Links, Member, member};

member!(Entry);

impl Leftist for Scheduler<'_> {
    type Member = Entry;

    fn member(&self, at: u32) -> Step<&Entry> {
        self.entry(at)
    }
    fn member_mut(&mut self, at: u32) -> Step<&mut Entry> {
        self.entry_mut(at)
    }
    fn ranks_before(&self, a: u32, b: u32) -> Step<bool> {
        match armed(Seeded::IgnorePriority) {
            true => Ok(self.entry(a)?.head < self.entry(b)?.head),
            false => self.is_before(a, b),
        }
    }
    fn slots(&self) -> usize {
        self.entry_slots()
    }
}

impl Scheduler<'_> {
    pub(crate) fn heap_push(&mut self, node: u32, member: u32) -> Step<()> {
        if self.entry(member)?.is_placed() {
            return Err(Fault::Corrupt("an entry would be in two places"));
        }
        let leaf = self.last_leaf(node)?;
        self.set_place(member, node)?;
        self.entry_mut(member)?.set_links(Links::ALONE);
        if leaf != NONE && self.in_order(leaf, member)?.0 == leaf {
            self.hang_below(leaf, member)?;
        } else {
            let root = self.meld(self.node(node)?.root, member)?;
            self.link_up(root, NONE)?;
            self.node_mut(node)?.root = root;
        }
        self.note_last(node, member)
    }

    /// The member that came last, if it is still in the heap and has no children.
    fn last_leaf(&self, node: u32) -> Step<u32> {
        let last = match self.notes_last(node)? {
            true => self.node(node)?.other,
            false => NONE,
        };
        // A member that is gone may have had a slot that is gone, too.
        let Ok(entry) = self.entry(last) else {
            return Ok(NONE);
        };
        let is_leaf = entry.is_placed() && entry.links().is_leaf();
        Ok(match is_leaf && self.place(last)? == node {
            true => last,
            false => NONE,
        })
    }

    fn note_last(&mut self, node: u32, member: u32) -> Step<()> {
        if self.notes_last(node)? {
            self.node_mut(node)?.other = member;
        }
        Ok(())
    }

    /// Sessions and key groups use that field for something else, and have few members.
    fn notes_last(&self, node: u32) -> Step<bool> {
        Ok(!matches!(
            self.entry(node)?.kind,
            Kind::Session | Kind::KeyGroup
        ))
    }

    pub(crate) fn heap_remove(&mut self, member: u32) -> Step<()> {
        if let Some(rest) = self.take_out(member)? {
            let place = self.place(member)?;
            let node = self.node_mut(place)?;
            if node.root != member {
                return Err(Fault::Corrupt("a heap's root is not its top"));
            }
            node.root = rest;
        }
        let entry = self.entry_mut(member)?;
        entry.set_placed(false);
        entry.cut_links();
        Ok(())
    }
}
