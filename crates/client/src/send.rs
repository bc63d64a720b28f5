//! Endings as calls: many completions in one, and each by itself where that fails.

use crate::ending::Ending;
use crate::error::{Remedy, described, is_locked, is_superseded, remedy};
use crate::failure::Failure;
use crate::held::{HeldRuns, RunId};
use crate::outcome::Outcome;
use crate::run::Children;
use crate::statement::{Statement, Value};
use futures_util::future::join_all;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::time::Duration;
use tokio_postgres::types::{Json, Type};
use tokio_postgres::{Client, Error, Row};

/// The calls wait for row locks no longer than this, or one run would hold up all others and their heartbeats.
macro_rules! patient {
    ($call:literal) => {
        concat!(
            "WITH patience AS MATERIALIZED (SELECT set_config('lock_timeout', '2s', true)) SELECT ",
            $call
        )
    };
}
pub(crate) use patient;
static COMPLETE_MANY: Statement = Statement {
    text: patient!("turnstile.complete_many($1, $2) FROM patience"),
    types: &[Type::INT8_ARRAY, Type::INT4_ARRAY],
};
static COMPLETE_WITH_RESULTS: Statement = Statement {
    text: patient!(
        "turnstile.complete(run.id, run.attempt, run.result)
           FROM patience, unnest($1, $2, $3) AS run(id, attempt, result)"
    ),
    types: &[Type::INT8_ARRAY, Type::INT4_ARRAY, Type::JSONB_ARRAY],
};
static COMPLETE: Statement = Statement {
    text: patient!("turnstile.complete($1, $2, $3) FROM patience"),
    types: &[Type::INT8, Type::INT4, Type::JSONB],
};
static FAIL: Statement = Statement {
    text: patient!(
        "turnstile.fail($1, $2, $3, retry_in => make_interval(secs => $4), discard => $5, error_class => $6) FROM patience"
    ),
    types: &[
        Type::INT8,
        Type::INT4,
        Type::TEXT,
        Type::FLOAT8,
        Type::BOOL,
        Type::TEXT,
    ],
};
static SNOOZE: Statement = Statement {
    text: patient!("turnstile.snooze($1, $2, make_interval(secs => $3)) FROM patience"),
    types: &[Type::INT8, Type::INT4, Type::FLOAT8],
};
static RELEASE: Statement = Statement {
    text: patient!("turnstile.release($1, $2) FROM patience"),
    types: &[Type::INT8, Type::INT4],
};
static HAND_OVER: Statement = Statement {
    text: patient!(
        "turnstile.heartbeat($1, $2, make_interval(secs => $3), unbind => true) FROM patience"
    ),
    types: &[Type::INT8, Type::INT4, Type::FLOAT8],
};
static AWAIT_CHILDREN: Statement = Statement {
    text: patient!("turnstile.await_children($1, $2) FROM patience"),
    types: &[Type::INT8, Type::INT4],
};
static CHILDREN: Statement = Statement {
    text: "SELECT pg_catalog.count(*) FILTER (WHERE child.state = 'completed'),
                  pg_catalog.count(*) FILTER (WHERE child.state = 'discarded'),
                  pg_catalog.count(*) FILTER (WHERE child.state = 'cancelled')
             FROM turnstile.batch_results($1) AS child",
    types: &[Type::INT8],
};

/// Results of one call. Larger ones go alone.
const MOST_BYTES: usize = 8 * 1024 * 1024;
/// PostgreSQL keeps no longer jsonb, and hangs up where a message has 1 GB.
const LONGEST_RESULT: usize = 256 * 1024 * 1024;
const LONGEST_ERROR: usize = 1024 * 1024;
/// The server refuses a longer one, and the end with it.
const LONGEST_CLASS: usize = 255;

/// What has become of an ending that was sent. The texts are what the server says.
#[derive(Debug, PartialEq, Eq, Clone)]
pub(crate) enum Answer {
    Known,
    /// So the run does not wait for any, and goes on.
    NoLiveChildren(Children),
    /// The run was lost, or this is the second time that the server hears of its end.
    Superseded,
    /// No answer: the connection is gone.
    Unanswered(String),
    /// Not now.
    Later(String),
    /// Others have locked the job.
    Locked(String),
    /// The server is read-only, or a trigger says so.
    NoWrites(String),
    /// Not so.
    Refused(String),
}

impl Answer {
    fn of<T>(result: Result<T, Error>, client: &Client, run: RunId) -> Self {
        match result {
            Ok(_) => Answer::Known,
            Err(error) if is_superseded(&error, run) => Answer::Superseded,
            Err(error) => Self::of_error(&error, client),
        }
    }

    fn of_error(error: &Error, client: &Client) -> Self {
        let reason = described(error);
        match remedy(error, client) {
            Remedy::Reconnect => Answer::Unanswered(reason),
            Remedy::Again if is_locked(error) => Answer::Locked(reason),
            Remedy::Again => Answer::Later(reason),
            Remedy::Elsewhere => Answer::NoWrites(reason),
            Remedy::Never => Answer::Refused(reason),
        }
    }

    pub(crate) fn lost(&self) -> Option<&str> {
        match self {
            Answer::Unanswered(reason) => Some(reason),
            _ => None,
        }
    }

    pub(crate) fn refused_writes(&self) -> Option<&str> {
        match self {
            Answer::NoWrites(reason) => Some(reason),
            _ => None,
        }
    }
}

/// One answer for each ending, in order. All calls are in one round trip, unless several completions have to be told apart.
pub(crate) async fn send(client: &Client, held: &HeldRuns, endings: &[Ending]) -> Vec<Answer> {
    let groups = groups(endings);
    let (of_groups, each) = futures_util::join!(
        join_all(groups.iter().map(|group| send_group(client, group))),
        join_all(
            endings
                .iter()
                .map(|ending| send_unless_grouped(client, held, ending))
        ),
    );
    let mut of_runs: HashMap<RunId, Answer> = groups
        .iter()
        .zip(of_groups)
        .filter_map(|(group, answer)| Some((group, answer?)))
        .flat_map(|(group, answer)| group.iter().map(move |ending| (ending.run, answer.clone())))
        .collect();
    let answers = endings
        .iter()
        .zip(each)
        .map(|(ending, own)| own.or_else(|| of_runs.remove(&ending.run)));
    join_all(endings.iter().zip(answers).map(async |(ending, answer)| {
        match answer {
            Some(answer) => answer,
            // One of the group has made the call of all fail.
            None => send_one(client, held, ending).await,
        }
    }))
    .await
}

/// The result of a completion that goes with others; none where it has none.
fn grouped(ending: &Ending) -> Option<Option<&RawValue>> {
    match &ending.outcome {
        Outcome::Complete(result) if ending.is_trusted() => {
            let result = result.as_deref();
            (size(result) <= LONGEST_RESULT).then_some(result)
        }
        _ => None,
    }
}

fn size(result: Option<&RawValue>) -> usize {
    result.map_or(0, |result| result.get().len())
}

/// Completions that go together: those without a result, and those with one as far as their bytes allow.
fn groups(endings: &[Ending]) -> Vec<Vec<&Ending>> {
    let together = |with_result: bool| {
        let belongs = |ending: &&Ending| {
            grouped(ending).is_some_and(|result| result.is_some() == with_result)
        };
        let mut group: Vec<_> = endings.iter().filter(belongs).collect();
        // Everybody locks rows by id.
        group.sort_unstable_by_key(|ending| ending.run);
        group
    };
    let mut groups = vec![together(false)];
    let mut bytes = 0;
    let mut group = Vec::new();
    for ending in together(true) {
        let more = size(grouped(ending).flatten());
        if bytes + more > MOST_BYTES && !group.is_empty() {
            groups.push(std::mem::take(&mut group));
            bytes = 0;
        }
        bytes += more;
        group.push(ending);
    }
    groups.push(group);
    groups.retain(|group| !group.is_empty());
    groups
}

/// None: to be sent one by one, because it is not known which of them it was.
async fn send_group(client: &Client, group: &[&Ending]) -> Option<Answer> {
    let (ids, attempts): (Vec<_>, Vec<_>) = group.iter().map(|ending| ending.run).unzip();
    let results: Vec<_> = group
        .iter()
        .map(|ending| grouped(ending).flatten().map(Json))
        .collect();
    let sent = match results.iter().any(Option::is_some) {
        true => {
            let values: [Value<'_>; 3] = [&ids, &attempts, &results];
            COMPLETE_WITH_RESULTS.row(client, &values).await.map(drop)
        }
        false => {
            let row = COMPLETE_MANY.row(client, &[&ids, &attempts]).await;
            row.and_then(|row| row.map_or(Ok(0), |row| row.try_get(0)))
                .map(|counted| warn_of_late(group.len(), counted))
        }
    };
    match sent {
        Ok(()) => Some(Answer::Known),
        Err(error) => match Answer::of_error(&error, client) {
            lost @ Answer::Unanswered(_) => Some(lost),
            _ => None,
        },
    }
}

/// `complete_many` leaves alone what is not its to complete.
fn warn_of_late(sent: usize, completed: i32) {
    let late = sent.saturating_sub(usize::try_from(completed).unwrap_or(0));
    if late > 0 {
        tracing::warn!(
            late,
            "completions came too late: the runs were lost, or the server knew of their ends"
        );
    }
}

async fn send_unless_grouped(client: &Client, held: &HeldRuns, ending: &Ending) -> Option<Answer> {
    match grouped(ending) {
        Some(_) => None,
        None => Some(send_one(client, held, ending).await),
    }
}

async fn send_one(client: &Client, held: &HeldRuns, ending: &Ending) -> Answer {
    let (id, attempt): RunId = ending.run;
    let seconds = Duration::as_secs_f64;
    let result = match &ending.outcome {
        Outcome::Complete(result) => {
            let result = result.as_deref();
            if size(result) > LONGEST_RESULT {
                return Answer::Refused(format!(
                    "the result has {} bytes, and PostgreSQL keeps {LONGEST_RESULT} at most",
                    size(result)
                ));
            }
            let result = result.map(Json);
            COMPLETE.row(client, &[&id, &attempt, &result]).await
        }
        Outcome::Fail(failure) => fail(client, ending.run, failure, None, false).await,
        Outcome::Retry { after, failure } => fail(client, ending.run, failure, *after, false).await,
        Outcome::Discard(failure) => fail(client, ending.run, failure, None, true).await,
        Outcome::Snooze(delay) => SNOOZE.row(client, &[&id, &attempt, &seconds(delay)]).await,
        Outcome::HandOver => {
            let lease = held.lease(ending.run).as_ref().map(seconds);
            match HAND_OVER.row(client, &[&id, &attempt, &lease]).await {
                // Who it was handed to may have ended it by now.
                Err(error) if is_superseded(&error, ending.run) => Ok(None),
                answer => answer,
            }
        }
        Outcome::Release => RELEASE.row(client, &[&id, &attempt]).await,
        Outcome::AwaitChildren => match await_children(client, ending.run).await {
            Ok(Some(children)) => return Answer::NoLiveChildren(children),
            Ok(None) => Ok(None),
            Err(error) => Err(error),
        },
    };
    Answer::of(result, client, ending.run)
}

async fn fail(
    client: &Client,
    (id, attempt): RunId,
    failure: &Failure,
    after: Option<Duration>,
    discard: bool,
) -> Result<Option<Row>, Error> {
    let error = kept(&failure.error, LONGEST_ERROR);
    let class = failure.class.as_deref();
    let class = class.map(|class| kept(class, LONGEST_CLASS));
    let class = class.filter(|class| !class.is_empty());
    let after = after.as_ref().map(Duration::as_secs_f64);
    let values: [Value<'_>; 6] = [&id, &attempt, &error, &after, &discard, &class];
    FAIL.row(client, &values).await
}

/// How the children have ended, if none is live.
async fn await_children(client: &Client, (id, attempt): RunId) -> Result<Option<Children>, Error> {
    let row = AWAIT_CHILDREN.row(client, &[&id, &attempt]).await?;
    if row.map_or(Ok(true), |row| row.try_get(0))? {
        return Ok(None);
    }
    let row = CHILDREN.row(client, &[&id]).await?;
    let children = row.map(|row| {
        Ok(Children {
            completed: row.try_get(0)?,
            discarded: row.try_get(1)?,
            cancelled: row.try_get(2)?,
        })
    });
    Ok(Some(children.transpose()?.unwrap_or_default()))
}

/// What PostgreSQL keeps of a text: no NUL, and not what is too long.
fn kept(text: &str, longest: usize) -> String {
    let text = text.replace('\0', "\u{FFFD}");
    let end = text.floor_char_boundary(longest);
    text.get(..end).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(id: i64, bytes: Option<usize>) -> Ending {
        let result = bytes.map(|bytes| format!("\"{}\"", "x".repeat(bytes - 2)));
        let result = result.map(|text| RawValue::from_string(text).unwrap());
        Ending::new((id, 1), Outcome::Complete(result))
    }

    #[test]
    fn results_go_together_as_far_as_their_bytes_allow() {
        let half = Some(MOST_BYTES / 2);
        let endings = [
            completed(5, half),
            completed(2, None),
            completed(4, half),
            completed(3, Some(MOST_BYTES * 2)),
            completed(6, Some(2)),
            completed(1, None),
        ];
        let ids = |group: &Vec<&Ending>| group.iter().map(|ending| ending.run.0).collect();
        let ids: Vec<Vec<i64>> = groups(&endings).iter().map(ids).collect();
        assert_eq!(ids, [vec![1, 2], vec![3], vec![4, 5], vec![6]]);
    }

    #[test]
    fn a_long_error_is_cut_between_characters() {
        let error = format!("a{}", "ä".repeat(LONGEST_ERROR));
        let kept = kept(&error, LONGEST_ERROR);
        assert!(error.starts_with(&kept));
        assert_eq!(kept.len(), LONGEST_ERROR - 1);
    }
}
