//! The arguments of enqueue in a query, and the element of enqueue_many that they make.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::IntoParams;

use super::idempotency;
use crate::listener::Problem;

/// All but the kind and the payload. Times and intervals are as PostgreSQL reads them.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct Arguments {
    /// Where the job waits, whatever the routes say
    queue: Option<String>,
    /// The customer that the job belongs to
    tenant: Option<String>,
    /// A part of the tenant with limits of its own
    account: Option<String>,
    /// Jobs of one queue, tenant and session run one at a time, in order
    session: Option<String>,
    /// Jobs that share the key share its limits
    concurrency_key: Option<String>,
    /// Lower runs first
    priority: Option<i32>,
    /// Not before this time, such as 2027-01-31T08:00:00Z
    run_at: Option<String>,
    /// How many attempts may fail before the job is discarded
    max_attempts: Option<i32>,
    /// While another job of the tenant holds the key, no job is added. Excludes the header Idempotency-Key
    unique_key: Option<String>,
    /// How long the job holds its key: until_executing, until_executed, until_expired, while_executing, until_and_while_executing or replace
    unique_mode: Option<String>,
    /// The states in which the job holds its key, in place of a mode, such as available,running. Finished ones need unique_for
    unique_states: Option<String>,
    /// Ends the hold so long after the enqueue, such as 1 hour
    unique_for: Option<String>,
    /// JSON that the application wants to keep with the job
    metadata: Option<String>,
    /// Makes the key from these columns, such as kind,payload,tenant
    unique_by: Option<String>,
    /// The id of the job that waits for this one
    parent: Option<i64>,
    /// Ids of jobs that must complete first, such as 7,8
    after: Option<String>,
    /// Any end of those will do
    after_any_end: Option<bool>,
    /// Where one of those ends otherwise than it should, the job stays blocked until that is retried and completes
    after_hold: Option<bool>,
}

impl Arguments {
    /// `held`: the unique key of an Idempotency-Key.
    pub fn element(
        self,
        kind: &str,
        payload: Box<RawValue>,
        held: Option<String>,
    ) -> Result<Element<'_>, Problem> {
        let is_unique = self.unique_key.is_some()
            || self.unique_by.is_some()
            || self.unique_mode.is_some()
            || self.unique_states.is_some()
            || self.unique_for.is_some();
        if held.is_some() && is_unique {
            return Err(Problem::bad_request(
                "Idempotency-Key and unique_key, unique_by, unique_mode, unique_states or unique_for exclude each other.",
            ));
        }
        let (unique_mode, unique_for) = match &held {
            Some(_) => (
                Some(idempotency::MODE.to_owned()),
                Some(idempotency::HELD_FOR.to_owned()),
            ),
            None => (self.unique_mode, self.unique_for),
        };
        Ok(Element {
            kind,
            payload,
            queue: self.queue,
            tenant: self.tenant,
            account: self.account,
            session: self.session,
            concurrency_key: self.concurrency_key,
            priority: self.priority,
            run_at: self.run_at,
            max_attempts: self.max_attempts,
            unique_key: held.or(self.unique_key),
            unique_mode,
            unique_for,
            metadata: self
                .metadata
                .map(|text| json("metadata", text))
                .transpose()?,
            unique_by: self.unique_by.map(|names| list(&names)),
            unique_states: self.unique_states.map(|names| list(&names)),
            parent: self.parent,
            after: self.after.map(|ids| numbers(&ids)).transpose()?,
            after_any_end: self.after_any_end,
            after_hold: self.after_hold,
        })
    }
}

/// Of the array that enqueue_many takes.
#[derive(Serialize)]
pub struct Element<'a> {
    kind: &'a str,
    payload: Box<RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    account: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    concurrency_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_attempts: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unique_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unique_mode: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unique_for: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unique_by: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unique_states: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<Vec<i64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after_any_end: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after_hold: Option<bool>,
}

/// As it was given, so that its numbers stay what they are.
pub fn json(name: &str, text: String) -> Result<Box<RawValue>, Problem> {
    RawValue::from_string(text)
        .map_err(|error| Problem::bad_request(format!("The {name} is not JSON: {error}.")))
}

fn list(names: &str) -> Vec<String> {
    names
        .split(',')
        .map(|name| name.trim().to_owned())
        .collect()
}

fn numbers(ids: &str) -> Result<Vec<i64>, Problem> {
    ids.split(',')
        .map(|id| id.trim().parse())
        .collect::<Result<_, _>>()
        .map_err(|_| Problem::bad_request("after must be ids of jobs, such as 7,8."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::jobs::query;

    fn made_of(text: &str, held: Option<&str>) -> Result<String, Problem> {
        let uri = format!("/v1/jobs/mail?{text}").parse().unwrap();
        let payload = json("payload", " {\"n\": 1.10} ".to_owned())?;
        let element =
            query::read::<Arguments>(&uri)?.element("mail", payload, held.map(str::to_owned))?;
        Ok(serde_json::to_string(&element).unwrap())
    }

    #[test]
    fn what_is_not_given_is_left_out() {
        assert_eq!(
            made_of("", None).unwrap(),
            r#"{"kind":"mail","payload":{"n": 1.10}}"#
        );
        assert_eq!(
            made_of("queue=a%20b&priority=-1&after=7,%208&metadata=%7B%7D&unique_by=kind,queue&unique_states=available,%20running&after_hold=true", None).unwrap(),
            r#"{"kind":"mail","payload":{"n": 1.10},"queue":"a b","priority":-1,"metadata":{},"unique_by":["kind","queue"],"unique_states":["available","running"],"after":[7,8],"after_hold":true}"#
        );
    }

    #[test]
    fn an_idempotency_key_is_held_for_a_day() {
        assert_eq!(
            made_of("", Some("k")).unwrap(),
            r#"{"kind":"mail","payload":{"n": 1.10},"unique_key":"k","unique_mode":"until_expired","unique_for":"24 hours"}"#
        );
        for query in [
            "unique_key=a",
            "unique_by=kind",
            "unique_mode=replace",
            "unique_states=available",
            "unique_for=1h",
        ] {
            assert!(made_of(query, Some("k")).is_err(), "{query}");
        }
    }

    #[test]
    fn mistakes_are_told() {
        for query in [
            "color=red",
            "queue=a&queue=b",
            "priority=high",
            "priority=99999999999",
            "after=7,x",
            "after=",
            "metadata=%7B",
            "after_hold=yes",
            "parent=1.5",
            "payload=1",
            "kind=a",
            "queue=%FF",
        ] {
            assert!(made_of(query, None).is_err(), "{query}");
        }
    }
}
