//! Levers of all jobs that a filter chooses.

use axum::http::StatusCode;

use super::done::{Done, STOPPED};
use crate::listener::Problem;
use crate::serve::dashboard::changes::Deed;
use crate::serve::dashboard::fields::Fields;
use crate::serve::dashboard::filter::Filter;
use crate::serve::dashboard::view::View;

pub async fn retry(view: View, fields: Fields) -> Result<Done, Problem> {
    start(&view, &fields, Deed::Retry, "retry_many")
}

pub async fn cancel(view: View, fields: Fields) -> Result<Done, Problem> {
    start(&view, &fields, Deed::Cancel, "cancel_many")
}

pub async fn discard(view: View, fields: Fields) -> Result<Done, Problem> {
    start(&view, &fields, Deed::Discard, "discard_many")
}

pub async fn stop(view: View, fields: Fields) -> Result<Done, Problem> {
    let number = fields.number("number")?;
    let change = view.shared.changes.find(&view.access, number);
    change.ok_or_else(no_such_change)?.stop();
    Ok(back(number).saying(STOPPED))
}

pub fn no_such_change() -> Problem {
    Problem::not_found(
        "There is no such change of yours. Changes are forgotten when this program ends.",
    )
}

/// Who may not call the function is told so at once: the change itself has nobody to tell it to.
fn start(view: &View, fields: &Fields, deed: Deed, function: &str) -> Result<Done, Problem> {
    if !view.can.calls(function) {
        let text = format!("Your role may not call turnstile.{function}.");
        return Err(Problem::new(StatusCode::FORBIDDEN, text).sqlstate("42501"));
    }
    let filter: Filter = fields.parameters()?;
    if filter.is_empty() {
        return Err(Problem::bad_request(
            "Say which jobs: at least one filter is needed.",
        ));
    }
    let expected = fields.optional_number("expected")?;
    if expected.is_some_and(|expected: i64| expected < 0) {
        return Err(Problem::bad_request("expected must be 0 or more."));
    }
    let number = view
        .shared
        .changes
        .start(&view.access, deed, filter, expected)?;
    Ok(back(number))
}

fn back(number: u64) -> Done {
    Done::at("/change").with("number", number)
}
