//! Arguments, and values of arguments, that several subcommands take.

use std::time::Duration;

const UNITS: [(&str, f64); 5] = [
    ("ms", 0.001),
    ("s", 1.0),
    ("m", 60.0),
    ("h", 3600.0),
    ("d", 86_400.0),
];
const LONGEST: f64 = 365.0 * 86_400.0;
const LARGEST: usize = 1 << 30;

#[derive(clap::Args)]
pub struct Queues {
    /// The queues to claim from, in this order: the second is looked at where the first has too few jobs. '*' stands for all
    #[arg(
        short,
        long,
        value_name = "QUEUES",
        value_delimiter = ',',
        default_value = "default"
    )]
    queues: Vec<String>,
}

impl Queues {
    pub fn in_order(&self) -> impl Iterator<Item = String> {
        self.queues.iter().cloned()
    }
}

/// As `zero_or_interval`, and more than 0.
pub fn interval(text: &str) -> Result<Duration, String> {
    match zero_or_interval(text)? {
        Duration::ZERO => Err(format!("{text:?} is not more than 0")),
        time => Ok(time),
    }
}

/// 500ms, 2s, 1.5m, 1h, 7d; a number alone is seconds.
pub fn zero_or_interval(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is no time such as 500ms, 2s, 5m, 1h or 7d");
    let digits = text.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    let unit = text.strip_prefix(digits).unwrap_or_default();
    let scale = match unit {
        "" => 1.0,
        unit => UNITS
            .iter()
            .find(|(name, _)| *name == unit)
            .map(|(_, scale)| *scale)
            .ok_or_else(wrong)?,
    };
    let seconds = digits.parse::<f64>().map_err(|_| wrong())? * scale;
    if !(0.0..=LONGEST).contains(&seconds) {
        return Err(format!("{text:?} is not between 0 and a year"));
    }
    Ok(Duration::from_secs_f64(seconds))
}

pub fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("a number from 1 on is needed".to_owned()),
        Ok(number) => Ok(number),
    }
}

/// 500kb, 1mb; a number alone is bytes. At most 1gb.
pub fn size(text: &str) -> Result<usize, String> {
    let wrong = || format!("{text:?} is no size such as 65536, 500kb or 1mb");
    let digits = text.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    let scale = match text.strip_prefix(digits).unwrap_or_default() {
        "" | "b" => 1,
        "kb" => 1 << 10,
        "mb" => 1 << 20,
        "gb" => 1 << 30,
        _ => return Err(wrong()),
    };
    let bytes = digits
        .parse::<usize>()
        .map_err(|_| wrong())?
        .checked_mul(scale);
    bytes
        .filter(|bytes| (1..=LARGEST).contains(bytes))
        .ok_or_else(|| format!("{text:?} is not between 1 byte and 1gb"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        for (text, milliseconds) in [
            ("500ms", 500),
            ("2", 2_000),
            ("1.5m", 90_000),
            ("1h", 3_600_000),
            ("7d", 604_800_000),
        ] {
            assert_eq!(
                interval(text).unwrap(),
                Duration::from_millis(milliseconds),
                "{text}"
            );
        }
        for text in ["", "s", "1x", "-1s", "inf", "1 s", "1000d", "nan"] {
            assert!(interval(text).is_err(), "{text}");
            assert!(zero_or_interval(text).is_err(), "{text}");
        }
    }

    #[test]
    fn zero_is_a_time_only_where_it_means_something() {
        for text in ["0", "0s", "0ms", "0.0h"] {
            assert_eq!(zero_or_interval(text), Ok(Duration::ZERO), "{text}");
            assert_eq!(
                interval(text),
                Err(format!("{text:?} is not more than 0")),
                "{text}"
            );
        }
    }

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in [
            ("1", 1),
            ("7b", 7),
            ("500kb", 512_000),
            ("1mb", 1 << 20),
            ("1gb", 1 << 30),
        ] {
            assert_eq!(size(text).unwrap(), bytes, "{text}");
        }
        for text in [
            "",
            "mb",
            "0",
            "-1",
            "1.5mb",
            "2gb",
            "1tb",
            "99999999999999999999",
            "1 mb",
        ] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
