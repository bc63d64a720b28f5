//! The figures: all arrays and the header, borrowed from the caller.

use super::bin::Bin;
use super::count::Count;
use super::kinds::KINDS;
use super::name::Name;
use super::rounds::Round;
use super::stats::Stats;
use super::text::Text;
use crate::memory::slab::{Pool, Slab};

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct FigurePools {
    names: Pool,
    texts: Pool,
    bins: Pool,
    stats: Pool,
}

/// All zero: nothing was ever counted.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct FiguresHeader {
    pub(super) count: Count,
    /// Where the search for names that can be forgotten goes on.
    pub(super) hand: u32,
    /// Where the searches for statistics that can be given to another name go on, by kind.
    pub(super) rounds: [Round; KINDS.len()],
    /// How many names have statistics, by kind.
    pub(super) stats_of: [u32; KINDS.len()],
    /// Since when events are counted; 0: not yet.
    pub(super) stats_reset: i64,
}

/// The parts of the figures. Each array may be longer the next time, or shorter by slots that are not needed.
pub struct FiguresMemory<'m> {
    pub header: &'m mut FiguresHeader,
    pub pools: &'m mut FigurePools,
    pub names: &'m mut [Name],
    pub name_buckets: &'m mut [u32],
    pub texts: &'m mut [Text],
    pub bins: &'m mut [Bin],
    pub stats: &'m mut [Stats],
    /// Top-level transactions that ran when the count took its snapshot.
    pub running: &'m mut [u32],
}

pub struct Figures<'m> {
    pub(super) header: &'m mut FiguresHeader,
    pub(super) names: Slab<'m, Name>,
    pub(super) texts: Slab<'m, Text>,
    pub(super) bins: Slab<'m, Bin>,
    pub(super) stats: Slab<'m, Stats>,
    pub(super) running: &'m mut [u32],
}

impl<'m> Figures<'m> {
    pub fn new(memory: FiguresMemory<'m>) -> Self {
        Self {
            header: memory.header,
            names: Slab {
                pool: &mut memory.pools.names,
                slots: memory.names,
                beside: &mut [],
                buckets: memory.name_buckets,
            },
            texts: Slab {
                pool: &mut memory.pools.texts,
                slots: memory.texts,
                beside: &mut [],
                buckets: &mut [],
            },
            bins: Slab {
                pool: &mut memory.pools.bins,
                slots: memory.bins,
                beside: &mut [],
                buckets: &mut [],
            },
            stats: Slab {
                pool: &mut memory.pools.stats,
                slots: memory.stats,
                beside: &mut [],
                buckets: &mut [],
            },
            running: memory.running,
        }
    }

    /// The jobs are gone, and so are the transactions that have added some.
    pub fn forget_everything(&mut self) {
        self.clear();
        *self.header = FiguresHeader {
            count: self.header.count.after_loss(),
            ..FiguresHeader::default()
        };
    }

    pub(super) fn clear(&mut self) {
        self.names.clear();
        self.texts.clear();
        self.bins.clear();
        self.stats.clear();
    }
}
