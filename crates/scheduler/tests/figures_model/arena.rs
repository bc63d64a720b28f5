//! The arrays of figures, for tests.

use turnstile_scheduler::GateKind;
use turnstile_scheduler::figures::{
    Bin, FigureArray, FigurePools, Figures, FiguresHeader, FiguresMemory, Name, NameView, Stats,
    Text,
};

pub struct Arrays {
    header: FiguresHeader,
    pools: FigurePools,
    names: Vec<Name>,
    name_buckets: Vec<u32>,
    texts: Vec<Text>,
    bins: Vec<Bin>,
    stats: Vec<Stats>,
    running: Vec<u32>,
}

impl Arrays {
    pub fn of(names: usize, bins: usize) -> Self {
        Self::with_stats(names, bins, names)
    }

    pub fn with_stats(names: usize, bins: usize, stats: usize) -> Self {
        Self {
            header: FiguresHeader::default(),
            pools: FigurePools::default(),
            names: vec![Name::default(); names],
            name_buckets: vec![0; FigureArray::Names.buckets(names)],
            texts: vec![Text::default(); 2 * names],
            bins: vec![Bin::default(); bins],
            stats: vec![Stats::default(); stats],
            running: vec![0; 8],
        }
    }

    pub fn open(&mut self) -> Figures<'_> {
        Figures::new(FiguresMemory {
            header: &mut self.header,
            pools: &mut self.pools,
            names: &mut self.names,
            name_buckets: &mut self.name_buckets,
            texts: &mut self.texts,
            bins: &mut self.bins,
            stats: &mut self.stats,
            running: &mut self.running,
        })
    }
}

/// All names of a kind that have something to show.
pub fn all(figures: &Figures, kind: GateKind, now: i64) -> Vec<NameView> {
    let (mut views, mut next) = (Vec::new(), Some(0));
    while let Some(from) = next {
        let some;
        (some, next) = figures.view(kind, from, now).unwrap();
        views.extend(some);
    }
    views
}
