//! Times within JSON, as PostgreSQL writes them. They are read here, since a cast in the statement would fail for what is no time.

/// "2026-11-25T01:38:04.306647+00:00" as seconds since 1970.
pub fn seconds(text: &str) -> Option<f64> {
    let (date, rest) = text.split_at_checked(10)?;
    let rest = rest.strip_prefix(['T', ' '])?;
    let zone = rest.find(['Z', '+', '-'])?;
    let (clock, zone) = rest.split_at_checked(zone)?;
    let mut date = date.split('-');
    let (year, month, day) = (
        whole(date.next()?)?,
        whole(date.next()?)?,
        whole(date.next()?)?,
    );
    let mut clock = clock.split(':');
    let (hour, minute) = (whole(clock.next()?)?, whole(clock.next()?)?);
    let second: f64 = clock.next()?.parse().ok()?;
    let is_time = (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 25 && minute < 60;
    if !is_time || !(0.0..61.0).contains(&second) {
        return None;
    }
    let minutes = (days(year, month, day) * 24 + hour) * 60 + minute - offset(zone)?;
    Some(minutes as f64 * 60.0 + second)
}

fn whole(text: &str) -> Option<i64> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())?
}

/// Minutes that the zone is ahead of UTC.
fn offset(zone: &str) -> Option<i64> {
    if zone == "Z" {
        return Some(0);
    }
    let (sign, rest) = zone.split_at_checked(1)?;
    let mut parts = rest.split(':');
    let hours = whole(parts.next()?)?;
    let minutes = parts.next().map_or(Some(0), whole)?;
    let ahead = hours * 60 + minutes;
    Some(if sign == "-" { -ahead } else { ahead })
}

/// Days from 1970-01-01 to a day of the calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years that begin in March have the leap day at their end.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_json_are_read() {
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", 0.0),
            ("2000-02-29T00:00:00+00:00", 951_782_400.0),
            ("2025-11-25T01:20:03.5+00:00", 1_764_033_603.5),
            ("2025-11-25T06:50:03+05:30", 1_764_033_603.0),
            ("2025-11-24T18:20:03-07", 1_764_033_603.0),
        ] {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "",
            "now",
            "2025-11-25",
            "2025-13-25T01:20:03Z",
            "2025-11-25T01:20:03",
            "2025-11-25T01:20Z",
            "äöü2025-11-25T01:20:03Z",
            "infinity",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}
