//! Charts of lines over time, drawn as SVG that stretches to its place. Words, axes and legends are beside the drawing, so they keep their size.

use maud::{Markup, html};

use super::{note, number, time};

/// The drawing's own units; it is stretched to where it stands.
const WIDTH: f64 = 1_000.0;
const HEIGHT: f64 = 100.0;

#[derive(Clone, Debug)]
pub struct Series<'a> {
    pub name: &'a str,
    /// Seconds since 1970 with the value then; without one the line has a gap.
    pub points: Vec<(f64, Option<f64>)>,
}

#[derive(Clone, Debug)]
pub struct Chart<'a> {
    pub title: &'a str,
    /// "/min", "s"
    pub unit: &'a str,
    pub series: &'a [Series<'a>],
    pub from: f64,
    pub to: f64,
    /// In pixels.
    pub height: u32,
}

struct Scale {
    from: f64,
    span: f64,
    top: f64,
}

impl Scale {
    fn x(&self, at: f64) -> f64 {
        ((at - self.from) / self.span * WIDTH).clamp(0.0, WIDTH)
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - (value / self.top * HEIGHT).clamp(0.0, HEIGHT)
    }
}

pub fn lines(chart: Chart<'_>) -> Markup {
    let known = |series: &Series<'_>| values(&series.points).count();
    let is_drawn = chart.series.iter().any(|series| known(series) >= 2) && chart.to > chart.from;
    html! {
        figure.chart {
            figcaption {
                span.chart-title { (chart.title) " " span.unit { (chart.unit) } }
                output.readout aria-hidden="true" {}
            }
            @if is_drawn { (drawing(&chart)) } @else { (note::empty("Collecting figures: come back in a minute.")) }
            (legend(&chart))
        }
    }
}

fn drawing(chart: &Chart<'_>) -> Markup {
    let most = chart
        .series
        .iter()
        .flat_map(|series| values(&series.points))
        .fold(0.0, f64::max);
    let scale = Scale {
        from: chart.from,
        span: chart.to - chart.from,
        top: nice(most),
    };
    let labels = [scale.top, scale.top / 2.0, 0.0];
    html! {
        div.plot {
            div.axis-y aria-hidden="true" { @for label in labels { span { (number::compact(label)) } } }
            svg viewBox="0 0 1000 100" width="100%" height=(chart.height) preserveAspectRatio="none" role="img" aria-label=(summary(chart))
                data-from=(chart.from) data-to=(chart.to) data-top=(scale.top) {
                path.grid d="M0 .5H1000M0 50H1000M0 100H1000M250 0V100M500 0V100M750 0V100" {}
                @for (at, series) in chart.series.iter().enumerate() {
                    path class={ "line " (class(at)) } d=(path(&series.points, &scale)) data-name=(series.name) {}
                }
            }
            div.axis-x aria-hidden="true" {
                @for quarters in (1..=4).rev() {
                    span { "−" (time::span_text(scale.span * f64::from(quarters) / 4.0)) }
                }
                span { "now" }
            }
        }
    }
}

/// Lines differ by their dashes, too.
fn class(at: usize) -> &'static str {
    ["s0", "s1", "s2", "s3", "s4"]
        .get(at % 5)
        .copied()
        .unwrap_or("s0")
}

fn legend(chart: &Chart<'_>) -> Markup {
    html! {
        ul.legend {
            @for (at, series) in chart.series.iter().enumerate() {
                li {
                    svg.sample viewBox="0 0 24 8" width="24" height="8" aria-hidden="true" {
                        path class={ "line " (class(at)) } d="M1 4H23" {}
                    }
                    (series.name)
                    @if let Some(latest) = latest(&series.points) {
                        " " strong { (number::short(latest)) }
                    }
                }
            }
        }
    }
}

fn summary(chart: &Chart<'_>) -> String {
    let mut words = format!(
        "{}, {} until {}.",
        chart.title,
        time::span_text(chart.to - chart.from).replace('\u{a0}', " "),
        time::stamp(chart.to)
    );
    for series in chart.series {
        match latest(&series.points) {
            Some(latest) => {
                let least = values(&series.points).fold(f64::INFINITY, f64::min);
                let most = values(&series.points).fold(f64::NEG_INFINITY, f64::max);
                words.push_str(&format!(
                    " {}: {} {} at last, between {} and {}.",
                    series.name,
                    number::short(latest),
                    chart.unit,
                    number::short(least),
                    number::short(most)
                ));
            }
            None => words.push_str(&format!(" {}: no figures.", series.name)),
        }
    }
    words
}

/// A line without axes, for a cell of a table.
pub fn spark(points: &[(f64, Option<f64>)], label: &str) -> Markup {
    let (Some((from, _)), Some((to, _))) = (points.first(), points.last()) else {
        return number::none();
    };
    let most = values(points).fold(0.0, f64::max);
    let scale = Scale {
        from: *from,
        span: (to - from).max(1.0),
        top: if most > 0.0 { most } else { 1.0 },
    };
    let words = match latest(points) {
        Some(latest) => format!(
            "{label}: {} at last, {} at most",
            number::short(latest),
            number::short(most)
        ),
        None => return number::none(),
    };
    html! {
        svg.spark viewBox="-8 -6 1016 112" width="80" height="18" preserveAspectRatio="none" role="img" aria-label=(words) {
            title { (words) }
            path.line.s0 d=(path(points, &scale)) {}
        }
    }
}

fn values(points: &[(f64, Option<f64>)]) -> impl Iterator<Item = f64> {
    points
        .iter()
        .filter_map(|(_, value)| *value)
        .filter(|value| value.is_finite())
}

fn latest(points: &[(f64, Option<f64>)]) -> Option<f64> {
    points
        .last()
        .and_then(|(_, value)| *value)
        .filter(|value| value.is_finite())
}

fn path(points: &[(f64, Option<f64>)], scale: &Scale) -> String {
    use std::fmt::Write;

    let mut path = String::new();
    let mut is_open = false;
    let mut alone = false;
    for (at, value) in points {
        match value.filter(|value| value.is_finite()) {
            Some(value) => {
                let letter = if is_open { 'L' } else { 'M' };
                alone = !is_open;
                is_open = true;
                // Writing into a string cannot fail.
                let _ = write!(path, "{letter}{:.1} {:.1}", scale.x(*at), scale.y(value));
            }
            None => {
                if is_open && alone {
                    path.push_str("h.1");
                }
                is_open = false;
                alone = false;
            }
        }
    }
    // A point by itself is a line of no length, which round ends make a dot.
    if alone {
        path.push_str("h.1");
    }
    path
}

/// The number of two digits or fewer, at the top of the axis, that is easy to halve: 1, 2, 4, 5, 6, 8 or 10 times a power of ten.
fn nice(most: f64) -> f64 {
    if !most.is_finite() || most <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(most.log10().floor());
    [1.0, 2.0, 4.0, 5.0, 6.0, 8.0, 10.0]
        .into_iter()
        .map(|step| step * power)
        .find(|top| *top >= most * (1.0 - 1e-9))
        .unwrap_or(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: Vec<(f64, Option<f64>)>) -> String {
        let series = [Series {
            name: "completed",
            points,
        }];
        lines(Chart {
            title: "Jobs ended",
            unit: "/min",
            series: &series,
            from: 0.0,
            to: 100.0,
            height: 120,
        })
        .into_string()
    }

    #[test]
    fn too_little_to_draw() {
        for points in [
            Vec::new(),
            vec![(50.0, Some(1.0))],
            vec![(0.0, None), (50.0, None)],
        ] {
            assert!(chart(points).contains("Collecting figures"));
        }
    }

    #[test]
    fn gaps_and_lone_points() {
        let text = chart(vec![
            (0.0, Some(0.0)),
            (25.0, Some(4.0)),
            (50.0, None),
            (75.0, Some(2.0)),
            (80.0, None),
            (100.0, Some(f64::NAN)),
        ]);
        assert!(
            text.contains("d=\"M0.0 100.0L250.0 0.0M750.0 50.0h.1\""),
            "{text}"
        );
        assert!(text.contains("completed: no figures"));
    }

    #[test]
    fn tops_of_axes() {
        assert_eq!(
            [0.0, 0.03, 1.0, 1.1, 21.0, 95.0, 1_000.0, f64::NAN]
                .map(nice)
                .map(|top| format!("{top:.2}")),
            [
                "1.00", "0.04", "1.00", "2.00", "40.00", "100.00", "1000.00", "1.00"
            ]
        );
    }

    #[test]
    fn sparks() {
        assert!(spark(&[], "rate").into_string().contains("–"));
        assert!(
            spark(&[(1.0, Some(3.0))], "rate")
                .into_string()
                .contains("rate: 3 at last")
        );
        assert!(
            spark(&[(1.0, Some(0.0)), (2.0, Some(0.0))], "rate")
                .into_string()
                .contains("M0.0 100.0L1000.0 100.0")
        );
    }
}
