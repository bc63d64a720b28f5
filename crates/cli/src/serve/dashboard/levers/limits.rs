//! A form of limits: a number sets one, “no limit” lifts an inherited one, an empty field takes away what was set. A field that is not there, or has what stood there when the page was drawn,
//! leaves what others may have set meanwhile.

use crate::listener::Problem;
use crate::serve::dashboard::fields::Fields;
use crate::serve::dashboard::value::Value;

pub struct Limits<'a> {
    fields: &'a Fields,
    cleared: Vec<String>,
}

impl<'a> Limits<'a> {
    pub fn of(fields: &'a Fields) -> Self {
        Self {
            fields,
            cleared: Vec::new(),
        }
    }

    pub fn number(&mut self, name: &str) -> Result<Value, Problem> {
        let given = self.fields.optional_limit(name)?;
        self.clear_if_emptied(name);
        Ok(Value::Int(given.filter(|_| self.is_changed(name))))
    }

    /// An interval as PostgreSQL reads it. It goes with a number that is set by another field, and means nothing without one.
    pub fn interval(&mut self, name: &str, number: &str) -> Value {
        self.clear_if_emptied(name);
        let goes_along = self.is_changed(number)
            && matches!(self.fields.optional_limit(number), Ok(Some(number)) if number > 0);
        let is_meant = self.is_changed(name) || goes_along;
        Value::from(self.fields.optional(name).filter(|_| is_meant))
    }

    fn clear_if_emptied(&mut self, name: &str) {
        if self.is_changed(name) && self.fields.optional(name).is_none() {
            self.cleared.push(name.to_owned());
        }
    }

    fn is_changed(&self, name: &str) -> bool {
        let was = format!("was_{name}");
        self.fields.has(name)
            && !(self.fields.has(&was) && self.fields.optional(&was) == self.fields.optional(name))
    }

    /// The argument `clear` of setters.
    pub fn cleared(self) -> Value {
        Value::Texts(self.cleared)
    }
}

/// For how long a pause lasts; nothing: until it is ended.
pub fn pause(fields: &Fields) -> Result<Value, Problem> {
    match fields.optional_number("seconds")? {
        Some(seconds) if seconds <= 0 => Err(Problem::bad_request("A pause takes some time.")),
        given => Ok(Value::Long(given)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_fields_take_limits_away() {
        let fields = Fields::read(b"slots=5&max_waiting=&weight=");
        let mut limits = Limits::of(&fields);
        assert_eq!(limits.number("slots").unwrap(), Value::Int(Some(5)));
        for name in ["max_waiting", "rate"] {
            assert_eq!(limits.number(name).unwrap(), Value::Int(None), "{name}");
        }
        assert_eq!(limits.number("weight").unwrap(), Value::Int(None));
        let cleared = ["max_waiting", "weight"].map(str::to_owned);
        assert_eq!(limits.cleared(), Value::Texts(cleared.into()));
    }

    #[test]
    fn no_limit_is_said_in_words() {
        let fields = Fields::read(b"was_slots=&slots=No+limit&was_rate=no+limit&rate=no+limit");
        let mut limits = Limits::of(&fields);
        assert_eq!(limits.number("slots").unwrap(), Value::Int(Some(-1)));
        assert_eq!(limits.number("rate").unwrap(), Value::Int(None));
        assert_eq!(limits.cleared(), Value::Texts(Vec::new()));
    }

    #[test]
    fn an_interval_goes_with_a_number_only() {
        for (rate, expected) in [
            ("7", Value::text("1 hour")),
            ("", Value::Text(None)),
            ("no+limit", Value::Text(None)),
        ] {
            let form = format!("was_rate=5&rate={rate}&was_rate_per=1+hour&rate_per=1+hour");
            let fields = Fields::read(form.as_bytes());
            assert_eq!(
                Limits::of(&fields).interval("rate_per", "rate"),
                expected,
                "{rate}"
            );
        }
    }

    #[test]
    fn what_was_not_changed_is_left() {
        let fields = Fields::read(
            b"was_slots=5&slots=5&was_rate=&rate=&was_burst=3&burst=&was_weight=1&weight=2&was_rate_per=1+hour&rate_per=1+hour",
        );
        let mut limits = Limits::of(&fields);
        for name in ["slots", "rate", "burst"] {
            assert_eq!(limits.number(name).unwrap(), Value::Int(None), "{name}");
        }
        assert_eq!(limits.number("weight").unwrap(), Value::Int(Some(2)));
        assert_eq!(limits.interval("rate_per", "rate"), Value::Text(None));
        assert_eq!(limits.interval("rate_per", "weight"), Value::text("1 hour"));
        assert_eq!(limits.cleared(), Value::Texts(vec!["burst".to_owned()]));
    }

    #[test]
    fn numbers_are_whole() {
        let fields = Fields::read(b"slots=1.5&seconds=0");
        assert!(Limits::of(&fields).number("slots").is_err());
        assert!(pause(&fields).is_err());
    }
}
