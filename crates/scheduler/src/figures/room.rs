//! What the caller has to know to let the arrays grow and shrink.

use super::bin::Bin;
use super::change::Change;
use super::kinds::KINDS;
use super::label::Label;
use super::memory::Figures;
use super::name::Name;
use super::stats::MOST_STATS;
use crate::memory::lane::LaneSpec;
use crate::memory::slab::{Slab, Slot, buckets_for};
use crate::memory::step::Step;

/// An array that grows and shrinks, with what belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureArray {
    Names,
    Texts,
    Bins,
    Stats,
}

impl FigureArray {
    pub const ALL: [FigureArray; 4] = [
        FigureArray::Names,
        FigureArray::Texts,
        FigureArray::Bins,
        FigureArray::Stats,
    ];

    /// More slots than this are never needed.
    pub const fn most(self) -> usize {
        match self {
            FigureArray::Stats => KINDS.len() * MOST_STATS as usize + 1,
            FigureArray::Names | FigureArray::Texts | FigureArray::Bins => usize::MAX,
        }
    }

    /// How many buckets belong to so many slots.
    pub const fn buckets(self, slots: usize) -> usize {
        match self {
            FigureArray::Names => buckets_for::<Name>(slots),
            FigureArray::Texts | FigureArray::Bins | FigureArray::Stats => 0,
        }
    }
}

/// Intervals that a change is expected to make of one name at most. Where there are more, ages may be lost.
const MOST_BINS: usize = 256;

/// Slots that a change of one lane may take.
#[derive(Clone, Copy, Debug, Default)]
pub struct Demand([usize; FigureArray::ALL.len()]);

impl Demand {
    pub fn by(spec: &LaneSpec, change: &Change) -> Self {
        let labels = KINDS.into_iter().filter_map(|kind| change.label_of(kind));
        let (mut names, mut texts) = (0, 0);
        for label in labels {
            names += 1;
            texts += label.pieces();
        }
        let times = change.arrived.len() + change.left.len();
        let bins = names * times.min(MOST_BINS);
        let batches = usize::from(spec.batch != 0);
        Self([names + batches, texts, bins, names])
    }

    /// One name with statistics.
    pub fn of(label: Label) -> Self {
        Self([1, label.pieces(), 0, 1])
    }

    /// One name without a text.
    pub const NAME: Self = Self([1, 0, 0, 0]);

    /// Of names, texts and intervals: twice as many slots as there are, where they are wanted.
    pub(super) fn twice(arrays: [(bool, usize); 3]) -> Self {
        let wanted = |(is_wanted, slots): (bool, usize)| match is_wanted {
            true => slots.saturating_add(2),
            false => 0,
        };
        let [names, texts, bins] = arrays.map(wanted);
        Self([names, texts, bins, 0])
    }

    pub fn slots(&self, array: FigureArray) -> usize {
        self.0.get(array as usize).copied().unwrap_or(0)
    }
}

fn trim<T: Slot>(slab: &mut Slab<T>) -> Step<usize> {
    slab.trim()?;
    Ok(slab.needed())
}

impl Figures<'_> {
    pub fn left(&self, array: FigureArray) -> usize {
        match array {
            FigureArray::Names => self.names.left(),
            FigureArray::Texts => self.texts.left(),
            FigureArray::Bins => self.bins.left(),
            FigureArray::Stats => self.stats.left(),
        }
    }

    /// Makes an array smaller if at most half of it is in use. Returns how many slots it must keep.
    pub fn trim(&mut self, array: FigureArray) -> Step<usize> {
        match array {
            FigureArray::Names => trim::<Name>(&mut self.names),
            FigureArray::Texts => trim(&mut self.texts),
            FigureArray::Bins => trim::<Bin>(&mut self.bins),
            FigureArray::Stats => trim(&mut self.stats),
        }
    }
}
