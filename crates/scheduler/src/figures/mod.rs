//! Figures by name: how many jobs of each queue, tenant, account and concurrency key are in which state, since when they wait,
//! and what has become of those that were. Of each batch, how many are in which state: a commit by which its last job may have
//! gone is known as such (see [`Figures::may_be_decided`]).
//!
//! 1. The states are what the tables say, from a count of the tables on, until something spoils that. A transaction that
//!    commits adds what it has changed, unless the count has seen it (see `count`).
//! 2. Events are counted when transactions commit, and are never counted again.
//! 3. What a step costs does not depend on how many jobs or names there are.
//! 4. A name or a batch is forgotten when it has no jobs, no places are taken in its backlog, nothing of it has started or ended
//!    for a minute, and it has no statistics.

mod ages;
mod change;
mod count;
pub mod histogram;
mod minute;
mod name;
mod room;
mod rounds;
mod stats;
mod text;
mod view;

use crate::memory::gate::GateKind;
use crate::memory::slab::{Pool, Slab};
use count::Count;
use rounds::Round;

pub use ages::Bin;

pub use change::{Change, Dues, EVENTS, Event, STATES, State, Times};
pub use count::{Numbers, Trust};
pub use name::{Id, Name};
pub use room::{Demand, FigureArray};
pub use stats::Stats;
pub use text::{Label, Labels, Text};
pub use view::{NameView, StatsView};

/// What has figures under a name. Batches have some, too, and no name but their key.
pub const KINDS: [GateKind; 4] = [
    GateKind::Queue,
    GateKind::Tenant,
    GateKind::Account,
    GateKind::Concurrency,
];

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
    count: Count,
    /// Where the search for names that can be forgotten goes on.
    hand: u32,
    /// Where the searches for statistics that can be given to another name go on, by kind.
    rounds: [Round; KINDS.len()],
    /// How many names have statistics, by kind.
    stats_of: [u32; KINDS.len()],
    /// Since when events are counted; 0: not yet.
    stats_reset: i64,
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
    header: &'m mut FiguresHeader,
    names: Slab<'m, Name>,
    texts: Slab<'m, Text>,
    bins: Slab<'m, Bin>,
    stats: Slab<'m, Stats>,
    running: &'m mut [u32],
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

    fn clear(&mut self) {
        self.names.clear();
        self.texts.clear();
        self.bins.clear();
        self.stats.clear();
    }
}
