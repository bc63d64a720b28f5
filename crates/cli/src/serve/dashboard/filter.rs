//! What chooses jobs: the parameters of the list of jobs, which a change of all that match has, too.

use serde::Deserialize;

use super::links::Link;
use super::value::Value;
use crate::listener::Problem;

/// As forms send it: what is left empty chooses nothing.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default)]
pub struct Filter {
    pub queue: String,
    pub kind: String,
    pub tenant: String,
    pub account: String,
    pub session: String,
    pub state: String,
    /// Seconds since the job was enqueued, or since it ended.
    pub older: String,
    pub parent: String,
    /// JSON that the payload contains.
    pub payload: String,
}

impl Filter {
    /// The children of a job.
    pub fn of_parent(id: i64) -> Self {
        Self {
            parent: id.to_string(),
            ..Self::default()
        }
    }

    /// By the names of the parameters.
    pub fn fields(&self) -> [(&'static str, &str); 9] {
        [
            ("queue", &self.queue),
            ("kind", &self.kind),
            ("tenant", &self.tenant),
            ("account", &self.account),
            ("session", &self.session),
            ("state", &self.state),
            ("older", &self.older),
            ("parent", &self.parent),
            ("payload", &self.payload),
        ]
    }

    /// Those that are given.
    pub fn given(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.fields()
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
    }

    pub fn is_empty(&self) -> bool {
        self.given().next().is_none()
    }

    pub fn add_to(&self, link: Link) -> Link {
        self.given()
            .fold(link, |link, (name, value)| link.with(name, value))
    }

    /// The same with another value of one of the parameters, or without it.
    pub fn add_with(&self, link: Link, name: &str, value: &str) -> Link {
        self.given()
            .filter(|(given, _)| *given != name)
            .fold(link, |link, (name, value)| link.with(name, value))
            .with_some(name, (!value.is_empty()).then_some(value))
    }

    pub fn text(value: &str) -> Value {
        Value::from((!value.is_empty()).then_some(value))
    }

    pub fn older(&self) -> Result<Option<i64>, Problem> {
        number("older", &self.older)
    }

    pub fn parent(&self) -> Result<Option<i64>, Problem> {
        number("parent", &self.parent)
    }

    /// As JSON, which the server reads again.
    pub fn payload(&self) -> Result<Value, Problem> {
        if !self.payload.is_empty() {
            serde_json::from_str::<serde::de::IgnoredAny>(&self.payload).map_err(|error| {
                Problem::bad_request(format!("The payload to look for is not JSON: {error}."))
            })?;
        }
        Ok(Self::text(&self.payload))
    }
}

fn number(name: &str, text: &str) -> Result<Option<i64>, Problem> {
    if text.is_empty() {
        return Ok(None);
    }
    match text.trim().parse() {
        Ok(number) if number >= 0 => Ok(Some(number)),
        _ => Err(Problem::bad_request(format!(
            "{name} must be a whole number, 0 or more."
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_empty_chooses_nothing() {
        let filter = Filter {
            queue: "a b".to_owned(),
            older: "60".to_owned(),
            ..Filter::default()
        };
        assert_eq!(
            filter.add_to(Link::new("", "/jobs")).text(),
            "/jobs?queue=a%20b&older=60"
        );
        assert_eq!(filter.older().unwrap(), Some(60));
        assert_eq!(filter.parent().unwrap(), None);
        assert!(Filter::default().is_empty() && !filter.is_empty());
        assert_eq!(filter.payload().unwrap(), Value::Text(None));
    }

    #[test]
    fn mistakes_are_told() {
        let filter = Filter {
            older: "-1".to_owned(),
            parent: "x".to_owned(),
            payload: "{".to_owned(),
            ..Filter::default()
        };
        assert!(filter.older().is_err() && filter.parent().is_err() && filter.payload().is_err());
    }
}
