//! Levers of all jobs that a filter chooses.

use super::{Done, STOPPED};
use crate::listener::Problem;
use crate::serve::dashboard::changes::Deed;
use crate::serve::dashboard::fields::Fields;
use crate::serve::dashboard::filter::Filter;
use crate::serve::dashboard::view::View;

pub async fn retry(view: View, fields: Fields) -> Result<Done, Problem> {
    start(&view, &fields, Deed::Retry)
}

pub async fn cancel(view: View, fields: Fields) -> Result<Done, Problem> {
    start(&view, &fields, Deed::Cancel)
}

pub async fn discard(view: View, fields: Fields) -> Result<Done, Problem> {
    start(&view, &fields, Deed::Discard)
}

pub async fn stop(view: View, fields: Fields) -> Result<Done, Problem> {
    let number = fields.number("number")?;
    let change = view.dashboard.0.changes.find(&view.access, number);
    change.ok_or_else(no_such_change)?.stop();
    Ok(back(number).saying(STOPPED))
}

pub fn no_such_change() -> Problem {
    Problem::not_found(
        "There is no such change of yours. Changes are forgotten when this program ends.",
    )
}

fn start(view: &View, fields: &Fields, deed: Deed) -> Result<Done, Problem> {
    let filter: Filter = fields.parameters()?;
    if filter.is_empty() {
        return Err(Problem::bad_request(
            "Say which jobs: at least one filter is needed.",
        ));
    }
    let expected = fields.optional_number("expected")?;
    let number =
        view.dashboard
            .0
            .changes
            .start(&view.dashboard, &view.access, deed, filter, expected)?;
    Ok(back(number))
}

fn back(number: u64) -> Done {
    Done::at("/change").with("number", number)
}
