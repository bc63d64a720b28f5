//! When an endpoint wants to be asked again: the header `Retry-After`.

use std::time::{Duration, SystemTime};

/// An endpoint may keep its jobs waiting this long.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Seconds or an HTTP date, as a time from now. `None`: it is neither.
pub fn parse(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    let wait = seconds(value).or_else(|| date(value, now))?;
    Some(wait.min(LONGEST))
}

fn seconds(value: &str) -> Option<Duration> {
    let digits = value.strip_prefix('-').unwrap_or(value);
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    if digits.len() < value.len() {
        return Some(Duration::ZERO);
    }
    // More digits than a number has are a long time, too.
    Some(digits.parse().map_or(LONGEST, Duration::from_secs))
}

fn date(value: &str, now: SystemTime) -> Option<Duration> {
    let at = httpdate::parse_http_date(value).ok()?;
    Some(at.duration_since(now).unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates_are_times_from_now() {
        // Sun, 06 Nov 1994 08:49:37 GMT
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        for (value, wait) in [
            ("0", Some(0)),
            ("120", Some(120)),
            (" 7 ", Some(7)),
            ("007", Some(7)),
            ("-5", Some(0)),
            ("86400", Some(86_400)),
            ("86401", Some(86_400)),
            ("99999999999999999999999", Some(86_400)),
            ("Sun, 06 Nov 1994 08:50:37 GMT", Some(60)),
            ("Sunday, 06-Nov-94 08:50:37 GMT", Some(60)),
            ("Sun Nov  6 08:50:37 1994", Some(60)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(0)),
            ("Sun, 06 Nov 1994 08:00:00 GMT", Some(0)),
            ("Fri, 31 Dec 9999 23:59:59 GMT", Some(86_400)),
            ("", None),
            ("-", None),
            ("+5", None),
            ("1.5", None),
            ("5s", None),
            ("0x10", None),
            ("soon", None),
            ("５", None),
            ("Sun, 06 Nov 1994 08:50:37 CET", None),
            ("1994-11-06T08:50:37Z", None),
        ] {
            assert_eq!(parse(value, now), wait.map(Duration::from_secs), "{value}");
        }
    }
}
