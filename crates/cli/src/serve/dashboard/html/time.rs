//! Times, relative with the absolute on hover, and spans of time. Times are seconds since 1970.

use maud::{Markup, html};

use super::number;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
const YEAR: u64 = 365 * DAY;

// ---- Absolute -------------------------------------------------------------------------------------

/// Year, month, day, hour, minute, second of UTC. `None` for what four digits of a year cannot say, as `infinity`.
fn civil(at: f64) -> Option<(i64, i64, i64, i64, i64, i64)> {
    // From 0001-01-01 until 9999-12-31.
    if !(-62_135_596_800.0..253_402_300_800.0).contains(&at) {
        return None;
    }
    let seconds = at.floor() as i64;
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Days since 0000-03-01, so that a leap day is the last of its year.
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    Some((
        year,
        month,
        day,
        second / 3_600,
        second / 60 % 60,
        second % 60,
    ))
}

/// 2025-11-25 01:20:03 UTC
pub fn stamp(at: f64) -> String {
    match civil(at) {
        Some((year, month, day, hour, minute, second)) => {
            format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
        }
        None if at > 0.0 => "never".to_owned(),
        None => "long ago".to_owned(),
    }
}

/// As the attribute `datetime` has it.
fn machine(at: f64) -> Option<String> {
    civil(at).map(|(year, month, day, hour, minute, second)| {
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    })
}

/// The whole time, where there is room for it.
pub fn absolute(at: Option<f64>) -> Markup {
    number::or_none(
        at,
        |at| html! { time datetime=[machine(at)] { (stamp(at)) } },
    )
}

// ---- Relative -------------------------------------------------------------------------------------

/// "3 min ago", "in 2 h". The script keeps it true; the words are the same there.
pub fn ago(at: Option<f64>, now: f64) -> Markup {
    number::or_none(at, |at| match machine(at) {
        Some(machine) => html! {
            time datetime=(machine) title=(stamp(at)) data-ago { (relative(now - at)) }
        },
        None => html! { (stamp(at)) },
    })
}

/// Both, for the page of one thing.
pub fn full(at: Option<f64>, now: f64) -> Markup {
    number::or_none(at, |at| match civil(at) {
        Some(_) => html! {
            (absolute(Some(at))) " " span.faint.together { "(" (ago(Some(at), now)) ")" }
        },
        None => html! { (stamp(at)) },
    })
}

fn relative(passed: f64) -> String {
    let size = passed.abs() as u64;
    let (count, unit) = match size {
        0..5 => return "now".to_owned(),
        5..MINUTE => (size, "s"),
        MINUTE..HOUR => (size / MINUTE, "min"),
        HOUR.. if size < 2 * DAY => (size / HOUR, "h"),
        _ if size < 2 * YEAR => (size / DAY, "d"),
        _ => (size / YEAR, "y"),
    };
    if passed > 0.0 {
        format!("{count}\u{a0}{unit} ago")
    } else {
        format!("in {count}\u{a0}{unit}")
    }
}

// ---- Spans ----------------------------------------------------------------------------------------

/// 340 ms, 4.2 s, 3 min 12 s, 1 h 12 min, 9 d 4 h
pub fn span_text(seconds: f64) -> String {
    if !seconds.is_finite() {
        return "–".to_owned();
    }
    if seconds < 0.0 {
        return format!("−{}", span_text(-seconds));
    }
    let ms = seconds * 1_000.0;
    if ms < 999.5 {
        let text = if ms < 9.95 {
            number::short((ms * 10.0).round() / 10.0)
        } else {
            format!("{ms:.0}")
        };
        return format!("{text}\u{a0}ms");
    }
    if seconds < 9.95 {
        return format!("{}\u{a0}s", number::short((seconds * 10.0).round() / 10.0));
    }
    let whole = seconds.round() as u64;
    let two = |large: u64, large_unit: &str, small: u64, small_unit: &str| match small {
        0 => format!("{large}\u{a0}{large_unit}"),
        _ => format!("{large}\u{a0}{large_unit} {small}\u{a0}{small_unit}"),
    };
    match whole {
        0..MINUTE => format!("{whole}\u{a0}s"),
        MINUTE..HOUR => two(whole / MINUTE, "min", whole % MINUTE, "s"),
        HOUR..DAY => two(whole / HOUR, "h", whole % HOUR / MINUTE, "min"),
        _ if whole < 100 * DAY => two(whole / DAY, "d", whole % DAY / HOUR, "h"),
        _ => format!("{}\u{a0}d", number::grouped((whole / DAY) as i64)),
    }
}

pub fn span(seconds: f64) -> Markup {
    let text = span_text(seconds);
    let title = (is_rounded(seconds)).then(|| format!("{seconds} s"));
    html! { span.quantity title=[title] { (text) } }
}

pub fn span_ms(ms: f64) -> Markup {
    span(ms / 1_000.0)
}

/// Whether the words say less than the number.
fn is_rounded(seconds: f64) -> bool {
    let size = seconds.abs();
    let step = match size {
        size if size < 0.00995 => 0.0001,
        size if size < 0.9995 => 0.001,
        size if size < 9.95 => 0.1,
        size if size < HOUR as f64 => 1.0,
        size if size < DAY as f64 => MINUTE as f64,
        size if size < (100 * DAY) as f64 => HOUR as f64,
        _ => DAY as f64,
    };
    let steps = size / step;
    size.is_finite() && (steps - steps.round()).abs() > 1e-6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: String) -> String {
        text.replace('\u{a0}', " ")
    }

    #[test]
    fn days_of_the_calendar() {
        assert_eq!(
            [
                0.0,
                951_782_400.0,
                1_764_033_603.9,
                -1.0,
                253_402_300_799.0,
                -62_135_596_800.0
            ]
            .map(stamp),
            [
                "1970-01-01 00:00:00 UTC",
                "2000-02-29 00:00:00 UTC",
                "2025-11-25 01:20:03 UTC",
                "1969-12-31 23:59:59 UTC",
                "9999-12-31 23:59:59 UTC",
                "0001-01-01 00:00:00 UTC",
            ]
        );
        assert_eq!(
            [f64::INFINITY, 1e12, f64::NEG_INFINITY].map(stamp),
            ["never", "never", "long ago"]
        );
        assert_eq!(ago(Some(f64::INFINITY), 0.0).into_string(), "never");
    }

    #[test]
    fn relative_times_are_rounded_down() {
        assert_eq!(
            [
                0.0,
                4.9,
                -4.9,
                5.0,
                59.9,
                60.0,
                3_599.0,
                7_199.0,
                172_799.0,
                172_800.0,
                63_072_000.0,
                -90.0
            ]
            .map(relative)
            .map(plain),
            [
                "now",
                "now",
                "now",
                "5 s ago",
                "59 s ago",
                "1 min ago",
                "59 min ago",
                "1 h ago",
                "47 h ago",
                "2 d ago",
                "2 y ago",
                "in 1 min"
            ]
        );
        assert_eq!(
            plain(ago(Some(1_764_033_603.0), 1_764_033_663.0).into_string()),
            "<time datetime=\"2025-11-25T01:20:03Z\" title=\"2025-11-25 01:20:03 UTC\" data-ago>1 min ago</time>"
        );
    }

    #[test]
    fn spans_have_two_units_at_most() {
        assert_eq!(
            [
                0.0,
                0.00044,
                0.340,
                0.9996,
                1.5,
                9.94,
                9.96,
                59.6,
                192.0,
                3_600.0,
                4_331.0,
                792_000.0,
                8_640_000.0,
                -1.5
            ]
            .map(span_text)
            .map(plain),
            [
                "0 ms",
                "0.4 ms",
                "340 ms",
                "1 s",
                "1.5 s",
                "9.9 s",
                "10 s",
                "1 min",
                "3 min 12 s",
                "1 h",
                "1 h 12 min",
                "9 d 4 h",
                "100 d",
                "−1.5 s"
            ]
        );
        assert_eq!(span_text(f64::NAN), "–");
    }

    #[test]
    fn a_rounded_span_says_all_on_hover() {
        assert!(span(4_331.0).into_string().contains("title=\"4331 s\""));
        for exact in [0.0, 0.0004, 0.34, 1.5, 42.0, 192.0, 4_320.0] {
            assert!(!span(exact).into_string().contains("title"), "{exact}");
        }
    }
}
