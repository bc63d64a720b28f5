//! The last hour, as charts draw it: few points, at times that stay where they are while new ones come.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::serve::dashboard::html::chart::Series;
use crate::serve::dashboard::series::{self, Sample};
use crate::serve::dashboard::view::View;

const HOUR: f64 = 3_600.0;
/// What a chart is of at least, and then, in minutes: a quarter of each is a whole number of them.
const SPANS: [f64; 6] = [4.0, 8.0, 12.0, 20.0, 40.0, 60.0];
const POINTS: f64 = 120.0;
/// Of a line in a cell of a table.
const FEW: f64 = 30.0;
/// Samples come every five seconds, and figures of the last minute change every ten. Where no sample came for longer, the line has a gap.
const STEP: f64 = 10.0;
const GAP: f64 = 30.0;

pub struct Past {
    samples: Vec<Arc<Sample>>,
    pub from: f64,
    pub to: f64,
}

pub type Points = Vec<(f64, Option<f64>)>;

impl Past {
    pub fn of(view: &View) -> Self {
        let known = &view.shared.series;
        known.lend(&view.access);
        Self::new(known.samples())
    }

    fn new(mut samples: Vec<Arc<Sample>>) -> Self {
        let to = samples.last().map_or(0.0, |last| last.at);
        samples.retain(|sample| sample.at >= to - HOUR);
        let began = samples.first().map_or(to, |first| first.at);
        Self {
            from: to - span(to - began),
            to,
            samples,
        }
    }

    pub fn last(&self) -> Option<&Sample> {
        self.samples.last().map(Arc::as_ref)
    }

    pub fn line(&self, value: impl Fn(&Sample) -> Option<f64>) -> Points {
        let values = self.samples.iter().map(|sample| (sample.at, value(sample)));
        self.thinned(values, POINTS)
    }

    pub fn spark(&self, value: impl Fn(&Sample) -> Option<f64>) -> Points {
        let values = self.samples.iter().map(|sample| (sample.at, value(sample)));
        self.thinned(values, FEW)
    }

    /// How long jobs had waited that started then: the median and what 95 of 100 have not passed, in seconds.
    pub fn waits(&self) -> [Points; 2] {
        let waits = series::waits(&self.samples);
        let line = |part: fn(&crate::top::percentiles::Percentiles) -> Option<f64>| {
            let values = waits
                .iter()
                .map(|(at, found)| (*at, part(found).map(|ms| ms / 1_000.0)));
            self.thinned(values, POINTS)
        };
        [line(|found| found.p50), line(|found| found.p95)]
    }

    /// Runs that failed, a minute.
    pub fn failures(&self) -> Points {
        let failures = series::failures(&self.samples);
        self.thinned(
            failures.into_iter().map(|(at, failed)| (at, Some(failed))),
            POINTS,
        )
    }

    fn thinned(&self, values: impl Iterator<Item = (f64, Option<f64>)>, points: f64) -> Points {
        thinned(values, step(self.to - self.from, points))
    }
}

/// The waiting jobs of a queue, where it was among the busiest.
pub fn waiting_in(sample: &Sample, queue: &str) -> Option<f64> {
    sample
        .queues
        .iter()
        .find(|(name, _)| name == queue)
        .map(|(_, waiting)| *waiting as f64)
}

/// For a chart of several lines.
pub fn named<'a>(lines: Vec<(&'a str, Points)>) -> Vec<Series<'a>> {
    lines
        .into_iter()
        .map(|(name, points)| Series { name, points })
        .collect()
}

fn span(known: f64) -> f64 {
    let mut spans = SPANS.iter().map(|minutes| minutes * 60.0);
    spans.find(|span| *span >= known).unwrap_or(HOUR)
}

/// Whole steps a point.
fn step(span: f64, points: f64) -> f64 {
    (span / points / STEP).ceil().max(1.0) * STEP
}

/// The mean of each step, and the last value as it is.
fn thinned(values: impl Iterator<Item = (f64, Option<f64>)>, step: f64) -> Points {
    let mut steps: BTreeMap<i64, (f64, u32)> = BTreeMap::new();
    let mut last = None;
    for (at, value) in values {
        last = Some((at, value));
        if let Some(value) = value {
            let (sum, count) = steps.entry((at / step).floor() as i64).or_default();
            *sum += value;
            *count += 1;
        }
    }
    let mut points: Points = Vec::with_capacity(steps.len() + 1);
    for (number, (sum, count)) in steps {
        let at = number as f64 * step;
        if let Some((before, Some(_))) = points.last()
            && at - before > step.max(GAP) + step / 2.0
        {
            let gap = before + step;
            points.push((gap, None));
        }
        points.push((at, Some(sum / f64::from(count))));
    }
    if let Some((at, value)) = last {
        // The step that goes on ends with what is known last.
        if points.last().is_some_and(|(before, _)| at - before < step) {
            points.pop();
        }
        points.push((at, value));
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every(seconds: f64, count: usize) -> impl Iterator<Item = (f64, Option<f64>)> {
        (0..count).map(move |at| (1_000.0 + at as f64 * seconds, Some(at as f64)))
    }

    #[test]
    fn an_hour_has_few_points() {
        let points = thinned(every(5.0, 720), step(3_600.0, POINTS));
        assert!((120..=122).contains(&points.len()), "{}", points.len());
        assert_eq!(points.last(), Some(&(4_595.0, Some(719.0))));
        assert!(points.iter().all(|(_, value)| value.is_some()));
    }

    #[test]
    fn points_stay_where_they_are() {
        let before = thinned(every(5.0, 100), 30.0);
        let after = thinned(every(5.0, 106), 30.0);
        let settled = before.len() - 1;
        assert_eq!(before.get(..settled), after.get(..settled));
    }

    #[test]
    fn where_nothing_was_read_is_a_gap() {
        let values = every(5.0, 3).chain([(1_200.0, Some(1.0)), (1_205.0, Some(2.0))]);
        let points = thinned(values, 5.0);
        assert_eq!(
            points.iter().filter(|(_, value)| value.is_none()).count(),
            1
        );
        assert_eq!(thinned(std::iter::empty(), 5.0), []);
    }

    #[test]
    fn quarters_of_a_chart_are_whole_minutes() {
        assert_eq!(span(0.0), 240.0);
        assert_eq!(span(700.0), 720.0);
        assert_eq!(span(3_599.0), 3_600.0);
    }

    #[test]
    fn points_have_whole_steps() {
        assert_eq!(step(300.0, POINTS), 10.0);
        assert_eq!(step(3_600.0, POINTS), 30.0);
        assert_eq!(step(3_600.0, FEW), 120.0);
    }
}
