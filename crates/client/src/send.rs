//! Endings as calls: many completions in one, and each by itself where that fails.

use crate::ending::Ending;
use crate::error::{Remedy, described, is_superseded, remedy};
use crate::held::RunId;
use crate::outcome::Outcome;
use crate::statement::{Statement, Value};
use futures_util::future::join_all;
use std::time::Duration;
use tokio_postgres::types::{Json, Type};
use tokio_postgres::{Client, Error};

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
        "turnstile.fail($1, $2, $3, retry_in => make_interval(secs => $4), discard => $5) FROM patience"
    ),
    types: &[Type::INT8, Type::INT4, Type::TEXT, Type::FLOAT8, Type::BOOL],
};
static SNOOZE: Statement = Statement {
    text: patient!("turnstile.snooze($1, $2, make_interval(secs => $3)) FROM patience"),
    types: &[Type::INT8, Type::INT4, Type::FLOAT8],
};
static RELEASE: Statement = Statement {
    text: patient!("turnstile.release($1, $2) FROM patience"),
    types: &[Type::INT8, Type::INT4],
};
/// Where no child is live any more, the run goes on: as another one, which sees how they have ended.
static AWAIT_CHILDREN: Statement = Statement {
    text: patient!(
        "CASE WHEN NOT turnstile.await_children($1, $2) THEN turnstile.snooze($1, $2, '0') END FROM patience"
    ),
    types: &[Type::INT8, Type::INT4],
};

/// What has become of an ending that was sent.
#[derive(Debug, PartialEq, Eq, Clone)]
pub(crate) enum Answer {
    Known,
    /// The run was lost, or this is the second time that the server hears of its end.
    Superseded,
    /// No answer: the connection is gone.
    Unanswered,
    /// Not now.
    Later,
    /// Not so.
    Refused(String),
}

impl Answer {
    fn of<T>(result: Result<T, Error>) -> Self {
        let Err(error) = result else {
            return Answer::Known;
        };
        if is_superseded(&error) {
            return Answer::Superseded;
        }
        match remedy(&error) {
            Remedy::Reconnect => Answer::Unanswered,
            Remedy::Again => Answer::Later,
            Remedy::Never => Answer::Refused(described(&error)),
        }
    }
}

/// One answer for each ending, in order. All calls are in one round trip, unless several completions have to be told apart.
pub(crate) async fn send(client: &Client, endings: &[Ending]) -> Vec<Answer> {
    let (plain, with_results) = (together(endings, false), together(endings, true));
    let (plain_answer, results_answer, each) = futures_util::join!(
        complete_many(client, &plain),
        complete_with_results(client, &with_results),
        join_all(
            endings
                .iter()
                .map(|ending| send_unless_together(client, ending))
        ),
    );
    let of_group = |ending: &Ending| match &ending.outcome {
        Outcome::Complete(None) => plain_answer.clone(),
        _ => results_answer.clone(),
    };
    let answers = endings
        .iter()
        .zip(each)
        .map(|(ending, own)| own.or_else(|| of_group(ending)));
    join_all(endings.iter().zip(answers).map(async |(ending, answer)| {
        match answer {
            Some(answer) => answer,
            // One of the group has made the call of all fail.
            None => send_one(client, ending).await,
        }
    }))
    .await
}

fn together(endings: &[Ending], with_result: bool) -> Vec<&Ending> {
    let belongs = |ending: &&Ending| match &ending.outcome {
        Outcome::Complete(result) => result.is_some() == with_result,
        _ => false,
    };
    let mut group: Vec<_> = endings.iter().filter(belongs).collect();
    // Everybody locks rows by id.
    group.sort_unstable_by_key(|ending| ending.run);
    group
}

fn runs(endings: &[&Ending]) -> (Vec<i64>, Vec<i32>) {
    endings.iter().map(|ending| ending.run).unzip()
}

/// None: to be sent one by one, because it is not known which of them it was.
fn of_all(result: Result<(), Error>) -> Option<Answer> {
    match Answer::of(result) {
        answer @ (Answer::Known | Answer::Unanswered) => Some(answer),
        Answer::Superseded | Answer::Later | Answer::Refused(_) => None,
    }
}

async fn complete_many(client: &Client, endings: &[&Ending]) -> Option<Answer> {
    if endings.is_empty() {
        return None;
    }
    let (ids, attempts) = runs(endings);
    let result = COMPLETE_MANY.row(client, &[&ids, &attempts]).await;
    let counted = result.and_then(|row| row.map_or(Ok(0), |row| row.try_get::<_, i32>(0)));
    of_all(counted.map(|counted| warn_of_late(endings.len(), counted)))
}

/// `complete_many` leaves alone what is not its to complete.
pub(crate) fn warn_of_late(sent: usize, completed: i32) {
    let late = sent.saturating_sub(usize::try_from(completed).unwrap_or(0));
    if late > 0 {
        tracing::warn!(
            late,
            "completions came too late: the runs were lost, or the server knew of their ends"
        );
    }
}

async fn complete_with_results(client: &Client, endings: &[&Ending]) -> Option<Answer> {
    if endings.is_empty() {
        return None;
    }
    let (ids, attempts) = runs(endings);
    let result = |ending: &&Ending| match &ending.outcome {
        Outcome::Complete(result) => result.as_ref().map(|result| Json(result.clone())),
        _ => None,
    };
    let results: Vec<_> = endings.iter().map(result).collect();
    let values: [Value<'_>; 3] = [&ids, &attempts, &results];
    of_all(COMPLETE_WITH_RESULTS.row(client, &values).await.map(drop))
}

async fn send_unless_together(client: &Client, ending: &Ending) -> Option<Answer> {
    match ending.outcome {
        Outcome::Complete(_) => None,
        _ => Some(send_one(client, ending).await),
    }
}

async fn send_one(client: &Client, ending: &Ending) -> Answer {
    let (id, attempt): RunId = ending.run;
    let none: Option<f64> = None;
    let seconds = Duration::as_secs_f64;
    // PostgreSQL keeps no NUL in a text.
    let kept = |error: &str| error.replace('\0', "\u{FFFD}");
    Answer::of(match &ending.outcome {
        Outcome::Complete(result) => {
            let result = result.as_ref().map(Json);
            COMPLETE.row(client, &[&id, &attempt, &result]).await
        }
        Outcome::Fail(error) => {
            FAIL.row(client, &[&id, &attempt, &kept(error), &none, &false])
                .await
        }
        Outcome::Retry { after, error } => {
            let (error, after) = (kept(error), Some(seconds(after)));
            let values: [Value<'_>; 5] = [&id, &attempt, &error, &after, &false];
            FAIL.row(client, &values).await
        }
        Outcome::Discard(error) => {
            FAIL.row(client, &[&id, &attempt, &kept(error), &none, &true])
                .await
        }
        Outcome::Snooze(delay) => SNOOZE.row(client, &[&id, &attempt, &seconds(delay)]).await,
        Outcome::Release => RELEASE.row(client, &[&id, &attempt]).await,
        Outcome::AwaitChildren => AWAIT_CHILDREN.row(client, &[&id, &attempt]).await,
    })
}
