//! Numbers and times in a few characters.

/// 950, 12,300, 123k, 4.5M
pub fn count(value: i64) -> String {
    let size = value.unsigned_abs();
    let sign = if value < 0 { "-" } else { "" };
    match size {
        0..1_000 => format!("{sign}{size}"),
        1_000..100_000 => format!("{sign}{},{:03}", size / 1_000, size % 1_000),
        100_000..1_000_000 => format!("{sign}{}k", size / 1_000),
        1_000_000..100_000_000 => format!("{sign}{}.{}M", size / 1_000_000, size / 100_000 % 10),
        _ => format!("{sign}{}M", size / 1_000_000),
    }
}

/// 0.4s, 12s, 3m12s, 5h03m, 9d04h
pub fn seconds(value: f64) -> String {
    if value < 10.0 {
        return format!("{:.1}s", value.max(0.0));
    }
    let whole = value as u64;
    match whole {
        0..60 => format!("{whole}s"),
        60..3_600 => format!("{}m{:02}s", whole / 60, whole % 60),
        3_600..86_400 => format!("{}h{:02}m", whole / 3_600, whole / 60 % 60),
        _ => format!("{}d{:02}h", whole / 86_400, whole / 3_600 % 24),
    }
}

/// 0.4ms, 150ms, 1.5s, and then as `seconds`
pub fn milliseconds(value: f64) -> String {
    match value {
        value if value < 10.0 => format!("{value:.1}ms"),
        value if value < 1_000.0 => format!("{value:.0}ms"),
        _ => seconds(value / 1_000.0),
    }
}

/// 830 B, 1.5 kB, 12 MB
pub fn bytes(value: i64) -> String {
    let mut size = value.max(0) as f64;
    for unit in ["B", "kB", "MB", "GB"] {
        if size < 1024.0 {
            let decimals = usize::from(size < 10.0 && unit != "B");
            return format!("{size:.decimals$} {unit}");
        }
        size /= 1024.0;
    }
    format!("{size:.1} TB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_characters() {
        assert_eq!(
            [0, 999, 1_000, 99_999, 123_456, 4_560_000, 123_000_000].map(count),
            ["0", "999", "1,000", "99,999", "123k", "4.5M", "123M"]
        );
        assert_eq!(
            [0.04, 9.94, 59.9, 192.0, 18_180.0, 792_000.0].map(seconds),
            ["0.0s", "9.9s", "59s", "3m12s", "5h03m", "9d04h"]
        );
        assert_eq!(
            [0.44, 150.2, 1_500.0, 61_000.0].map(milliseconds),
            ["0.4ms", "150ms", "1.5s", "1m01s"]
        );
        assert_eq!(
            [830, 1_536, 12_582_912, 1_073_741_824].map(bytes),
            ["830 B", "1.5 kB", "12 MB", "1.0 GB"]
        );
    }
}
