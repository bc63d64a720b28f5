//! Numbers with their units. What is rounded says the whole number on hover.

use maud::{Markup, html};

/// Groups of three digits are set apart by a narrow space at which no line breaks.
const GROUP: char = '\u{202f}';

// ---- As text --------------------------------------------------------------------------------------

/// 12 345
pub fn grouped(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut text = String::with_capacity(digits.len() * 2 + 1);
    if value < 0 {
        text.push('−');
    }
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(GROUP);
        }
        text.push(digit);
    }
    text
}

/// 0.25, 2.5, 12 345: three digits at least, and no zeros behind the point.
pub fn short(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    match value.abs() {
        size if size >= 99.95 => grouped(value.round() as i64),
        size if size >= 9.995 => trimmed(format!("{value:.1}")),
        _ => trimmed(format!("{value:.2}")),
    }
}

fn trimmed(text: String) -> String {
    let trimmed = text.trim_end_matches('0').trim_end_matches('.');
    match trimmed {
        "-0" => "0".to_owned(),
        _ => trimmed.replace('-', "−"),
    }
}

/// A number with the letter of its size, for the axes of charts: 950, 12.3 k, 4.5 M.
pub fn compact(value: f64) -> String {
    let mut size = value;
    for letter in ["", "\u{a0}k", "\u{a0}M", "\u{a0}G"] {
        if size.abs() < 1_000.0 {
            return format!("{}{letter}", short(size));
        }
        size /= 1_000.0;
    }
    format!("{}\u{a0}T", short(size))
}

/// The number and the unit: "830", "B".
pub fn bytes_text(value: i64) -> (String, &'static str) {
    let mut size = value as f64;
    for unit in ["B", "kB", "MB", "GB"] {
        if size.abs() < 1_024.0 {
            return (short(size), unit);
        }
        size /= 1_024.0;
    }
    (short(size), "TB")
}

// ---- As markup ------------------------------------------------------------------------------------

/// What is not known, or not there.
pub fn none() -> Markup {
    html! { span.none { "–" } }
}

/// What `show` makes of a value, or a dash.
pub fn or_none<T>(value: Option<T>, show: impl FnOnce(T) -> Markup) -> Markup {
    value.map_or_else(none, show)
}

pub fn count(value: i64) -> Markup {
    html! { (grouped(value)) }
}

/// As `count`; nought is not worth a look.
pub fn count_or_faint(value: i64) -> Markup {
    if value == 0 {
        html! { span.none { "0" } }
    } else {
        count(value)
    }
}

/// What is at least so many: 10 000+.
pub fn at_least(value: i64, capped: bool) -> Markup {
    html! { (grouped(value)) @if capped { span title={ "at least " (grouped(value)) } { "+" } } }
}

pub fn rate(per_minute: f64) -> Markup {
    if per_minute == 0.0 {
        return html! { span.none { "0\u{a0}/min" } };
    }
    with_unit(&short(per_minute), "/min", exact(per_minute, "a minute"))
}

/// Of 1,024 each, as PostgreSQL counts them.
pub fn bytes(value: i64) -> Markup {
    let (text, unit) = bytes_text(value);
    let title = (unit != "B").then(|| format!("{} bytes", grouped(value)));
    with_unit(&text, unit, title)
}

/// Of a part between 0 and 1.
pub fn percent(part: f64) -> Markup {
    let percent = part * 100.0;
    let text = match percent {
        value if !value.is_finite() => return none(),
        value if value > 0.0 && value < 1.0 => "<1".to_owned(),
        value if value > 99.0 && value < 100.0 => ">99".to_owned(),
        value => grouped(value.round() as i64),
    };
    let rounded = percent.fract() != 0.0;
    let title = rounded.then(|| format!("{percent:.3}%"));
    html! { span title=[title] { (text) "%" } }
}

pub fn with_unit(text: &str, unit: &str, title: Option<String>) -> Markup {
    html! { span.quantity title=[title] { (text) "\u{a0}" span.unit { (unit) } } }
}

/// The whole number, if its short form does not say it.
fn exact(value: f64, unit: &str) -> Option<String> {
    let plain = short(value).replace(GROUP, "").replace('−', "-");
    (plain.parse::<f64>() != Ok(value) && value.is_finite()).then(|| format!("{value} {unit}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_come_in_groups() {
        assert_eq!(
            [0, 7, 999, 1_000, 12_345, 1_234_567, -1_234].map(grouped),
            [
                "0",
                "7",
                "999",
                "1\u{202f}000",
                "12\u{202f}345",
                "1\u{202f}234\u{202f}567",
                "−1\u{202f}234"
            ]
        );
        assert_eq!(
            grouped(i64::MIN),
            "−9\u{202f}223\u{202f}372\u{202f}036\u{202f}854\u{202f}775\u{202f}808"
        );
    }

    #[test]
    fn three_digits_are_enough() {
        assert_eq!(
            [
                0.0,
                0.254,
                2.5,
                9.999,
                10.04,
                99.94,
                99.96,
                12_345.6,
                -0.001,
                -2.5,
                f64::NAN
            ]
            .map(short),
            [
                "0",
                "0.25",
                "2.5",
                "10",
                "10",
                "99.9",
                "100",
                "12\u{202f}346",
                "0",
                "−2.5",
                "–"
            ]
        );
        assert_eq!(
            [950.0, 1_000.0, 12_300.0, 4_500_000.0, 2e15].map(compact),
            [
                "950",
                "1\u{a0}k",
                "12.3\u{a0}k",
                "4.5\u{a0}M",
                "2\u{202f}000\u{a0}T"
            ]
        );
    }

    #[test]
    fn what_is_rounded_says_so_on_hover() {
        assert_eq!(
            rate(2.5).into_string(),
            "<span class=\"quantity\">2.5\u{a0}<span class=\"unit\">/min</span></span>"
        );
        assert!(
            rate(2.5049)
                .into_string()
                .contains("title=\"2.5049 a minute\"")
        );
        assert!(!rate(12_345.0).into_string().contains("title"));
        assert!(
            rate(12_345.4)
                .into_string()
                .contains("title=\"12345.4 a minute\"")
        );
        assert!(
            bytes(1_536)
                .into_string()
                .contains("title=\"1\u{202f}536 bytes\">1.5\u{a0}")
        );
        assert!(!bytes(830).into_string().contains("title"));
    }

    #[test]
    fn a_small_part_is_not_nothing() {
        assert_eq!(
            [0.0, 0.001, 0.5, 0.999, 1.0, 1.25]
                .map(|part| percent(part).into_string().replace("</span>", "")),
            [
                "<span>0%",
                "<span title=\"0.100%\">&lt;1%",
                "<span>50%",
                "<span title=\"99.900%\">&gt;99%",
                "<span>100%",
                "<span>125%",
            ]
        );
    }
}
