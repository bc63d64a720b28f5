//! Bars that show a part of a whole. The words beside them say the same.

use maud::{Markup, html};

use super::number::{self, grouped};
use super::time;

/// The width of bars in the units of their drawing; the style sheet says how wide they are.
const WIDTH: f64 = 100.0;

fn meter(part: f64, class: &str) -> Markup {
    let width = if part.is_finite() {
        part.clamp(0.0, 1.0) * WIDTH
    } else {
        0.0
    };
    // What is there is seen, however little it is.
    let width = if width > 0.0 { width.max(2.0) } else { 0.0 };
    html! {
        svg class={ "meter " (class) } viewBox="0 0 100 6" width="64" height="6" preserveAspectRatio="none" aria-hidden="true" {
            rect.whole width="100" height="6" {}
            rect.part width=(rounded(width)) height="6" {}
        }
    }
}

fn rounded(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// Running of slots: "12 of 20". Bars stand behind the words, so that bars and numbers of a column are under each other.
pub fn used(running: i64, slots: Option<i64>) -> Markup {
    let Some(slots) = slots else {
        return html! {
            span.used { span { (grouped(running)) " " span.faint { "no limit" } } span.meter {} }
        };
    };
    let is_full = running >= slots;
    let part = if slots > 0 {
        running as f64 / slots as f64
    } else {
        1.0
    };
    html! {
        span.used {
            span {
                @if is_full { span.word { "full" } " " }
                (grouped(running)) span.faint { " of " } (grouped(slots))
            }
            (meter(part, if is_full { "full" } else { "" }))
        }
    }
}

/// A part of a whole, in percent.
pub fn share(part: i64, whole: i64) -> Markup {
    if whole <= 0 {
        return number::none();
    }
    let share = part as f64 / whole as f64;
    html! {
        span.used title={ (grouped(part)) " of " (grouped(whole)) } { span { (number::percent(share)) } (meter(share, "")) }
    }
}

/// The children of a batch, in words, too.
pub fn progress(done: i64, failed: i64, cancelled: i64, total: i64) -> Markup {
    let left = total
        .saturating_sub(done)
        .saturating_sub(failed)
        .saturating_sub(cancelled)
        .max(0);
    let parts = [
        ("done", "completed", done),
        ("failed", "failed", failed),
        ("cancelled", "cancelled", cancelled),
    ];
    let whole = total.max(1) as f64;
    let ended = total - left;
    let mut start = 0.0;
    let rects = parts
        .iter()
        .filter(|(_, _, count)| *count > 0)
        .map(|(class, _, count)| {
            // What is there is seen, however little it is.
            let width = (*count as f64 / whole * WIDTH)
                .max(0.6)
                .min((WIDTH - start).max(0.0));
            let x = start;
            start += width;
            html! { rect class=(class) x=(rounded(x)) width=(rounded(width)) height="10" {} }
        });
    html! {
        div.progress {
            p.progress-head {
                strong { (number::percent(ended as f64 / whole)) } " ended, " (grouped(ended)) " of " (grouped(total))
            }
            svg.stack viewBox="0 0 100 10" width="100%" height="10" preserveAspectRatio="none" aria-hidden="true" {
                rect.whole width="100" height="10" {}
                @for rect in rects { (rect) }
            }
            ul.legend {
                @for (class, word, count) in parts {
                    @if count > 0 || class == "done" { li { (swatch(class)) (grouped(count)) " " (word) } }
                }
                li { (swatch("whole")) (grouped(left)) " to go" }
            }
        }
    }
}

fn swatch(class: &str) -> Markup {
    html! {
        svg.swatch viewBox="0 0 10 10" width="10" height="10" aria-hidden="true" { rect class=(class) width="10" height="10" {} }
    }
}

/// How many took how long. Each bucket ends at its bound in milliseconds; the last has none.
pub fn histogram(bounds_ms: &[i64], counts: &[i64]) -> Markup {
    let total: i64 = counts.iter().sum();
    let used = |count: &&i64| **count > 0;
    let first = counts.iter().take_while(|count| !used(count)).count();
    let after = counts.len() - counts.iter().rev().take_while(|count| !used(count)).count();
    if total <= 0 || first >= after {
        return super::note::empty("Nothing was measured yet.");
    }
    let most = counts.iter().copied().max().unwrap_or(1).max(1) as f64;
    let bound = |at: usize| {
        bounds_ms
            .get(at)
            .map(|ms| time::span_text(*ms as f64 / 1_000.0))
    };
    let below = |at: usize| {
        at.checked_sub(1)
            .and_then(bound)
            .unwrap_or_else(|| "0".to_owned())
    };
    let buckets = counts.iter().enumerate().take(after).skip(first);
    let every = (after - first).div_ceil(6);
    html! {
        ol.histogram {
            @for (at, count) in buckets {
                @let words = match bound(at) {
                    Some(bound) => format!("{} to {bound}", below(at)),
                    None => format!("over {}", below(at)),
                };
                @let height = (*count as f64 / most * 100.0).max(if *count > 0 { 2.0 } else { 0.0 });
                li title={ (words) ": " (grouped(*count)) } {
                    svg viewBox="0 0 10 100" width="100%" height="72" preserveAspectRatio="none" aria-hidden="true" {
                        rect.part width="10" y=(rounded(100.0 - height)) height=(rounded(height)) {}
                    }
                    span.hidden { (words) ": " (grouped(*count)) }
                    span.bound aria-hidden="true" {
                        @if (at - first + 1).is_multiple_of(every) { (bounds_ms.get(at).map_or_else(|| "more".to_owned(), |ms| tick(*ms))) }
                    }
                }
            }
        }
    }
}

/// A bound in one number.
fn tick(ms: i64) -> String {
    let ms = ms as f64;
    let (size, unit) = match ms {
        _ if ms < 1_000.0 => (1.0, "ms"),
        _ if ms < 1_000_000.0 => (1_000.0, "s"),
        _ if ms < 10_000_000.0 => (60_000.0, "min"),
        _ if ms < 500_000_000.0 => (3_600_000.0, "h"),
        _ => (86_400_000.0, "d"),
    };
    format!(
        "{}\u{a0}{unit}",
        number::short((ms / size * 10.0).round() / 10.0)
    )
}
