//! Local times, as the calendar counts them: seconds since 2000-01-01 00:00 on the clock of a zone.

use croner::errors::CronError;
use croner::{CivilDate, CivilDateTime, CivilTime, CronDateTime, Resolution, Weekday};
use std::cmp::Ordering;

const DAY: i64 = 86_400;
/// Days of 400 years, after which the calendar repeats itself.
const DAYS_OF_ERA: i64 = 146_097;
/// From 1 March of year 0, where the years of this calculation begin, to 2000-01-01.
const DAYS_TO_2000: i64 = 730_425;
/// 2000-01-01 was a Saturday.
const FIRST_WEEKDAY: i64 = 6;

/// A time on a clock that nobody sets: each time on it exists once.
#[derive(Clone, Copy, Debug)]
pub struct LocalTime(pub i64);

impl LocalTime {
    fn days(self) -> i64 {
        self.0.div_euclid(DAY)
    }

    /// Year, month and day: a year here begins in March, so that a leap day is its last.
    fn date(self) -> Option<CivilDate> {
        let days = self.days().checked_add(DAYS_TO_2000)?;
        let era = days.div_euclid(DAYS_OF_ERA);
        let day_of_era = days.rem_euclid(DAYS_OF_ERA);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * from_march + 2) / 5 + 1;
        let month = if from_march < 10 {
            from_march + 3
        } else {
            from_march - 9
        };
        let year = year_of_era + 400 * era + i64::from(month <= 2);
        CivilDate::from_ymd_opt(
            i32::try_from(year).ok()?,
            u32::try_from(month).ok()?,
            u32::try_from(day).ok()?,
        )
    }

    fn of(civil: CivilDateTime) -> Self {
        let (month, day) = (i64::from(civil.month()), i64::from(civil.day()));
        let year = i64::from(civil.year()) - i64::from(month <= 2);
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let from_march = if month > 2 { month - 3 } else { month + 9 };
        let day_of_year = (153 * from_march + 2) / 5 + day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        let days = era * DAYS_OF_ERA + day_of_era - DAYS_TO_2000;
        let time = civil.time();
        let [hour, minute, second] = [time.hour(), time.minute(), time.second()].map(i64::from);
        Self(days * DAY + hour * 3_600 + minute * 60 + second)
    }
}

impl CronDateTime for LocalTime {
    fn to_civil(&self) -> CivilDateTime {
        let second = u32::try_from(self.0.rem_euclid(DAY)).unwrap_or(0);
        let time = CivilTime::from_parts_unchecked(second / 3_600, second / 60 % 60, second % 60);
        // The last year that a search looks at comes long before the last day here.
        let date = self
            .date()
            .unwrap_or_else(|| CivilDate::from_parts_unchecked(9_999, 12, 31));
        CivilDateTime::new(date, time)
    }

    fn civil_weekday(&self) -> Weekday {
        let weekday = (self.days() + FIRST_WEEKDAY).rem_euclid(7);
        Weekday::from_days_from_sunday(u32::try_from(weekday).unwrap_or(0))
    }

    fn resolve_civil(&self, civil: CivilDateTime) -> Result<Resolution<Self>, CronError> {
        Ok(Resolution::Single(Self::of(civil)))
    }

    fn checked_add_seconds(&self, seconds: i64) -> Option<Self> {
        self.0.checked_add(seconds).map(Self)
    }

    fn cmp_instant(&self, other: &Self) -> Ordering {
        self.0.cmp(&other.0)
    }
}
