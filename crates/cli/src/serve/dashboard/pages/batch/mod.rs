//! One batch: how far it is, when it ends, what failed in it, and its limits.

mod children;
mod head;
mod limits;

use maud::html;
use serde::Deserialize;

use crate::listener::Problem;
use crate::serve::dashboard::content::Content;
use crate::serve::dashboard::data::batches;
use crate::serve::dashboard::html::layout;
use crate::serve::dashboard::view::View;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Query {
    id: String,
}

pub async fn draw(view: View) -> Result<Content, Problem> {
    let Query { id } = view.query()?;
    let id: i64 = id
        .trim()
        .parse()
        .map_err(|_| Problem::bad_request("The number of a batch is a whole number."))?;
    let batch = batches::find(&view, id).await?.ok_or_else(|| missing(id))?;
    let settings = batches::settings(&view, id).await?;
    let counts = batches::counts(&view, std::slice::from_ref(&batch)).await?;
    let counts = counts.get(&id);
    let trail = layout::trail(&[(&view.link("/batches").text(), "Batches")]);
    let (by_state, failed) = children::of(&view, id).await?;
    Ok(Content::new(format!("Batch {id}"))
        .still("trail", trail)
        .live(
            "head",
            html! {
                (head::heading(&view, &batch, &by_state))
                (head::progress(&view, &batch, counts, settings.as_ref()))
                (children::counts(&view, id, &by_state))
                (head::facts(&view, &batch, settings.as_ref()))
            },
        )
        .live("limits", limits::form(&view, &batch, settings.as_ref()))
        .live("failed", children::failures(&view, id, failed.as_ref())))
}

fn missing(id: i64) -> Problem {
    Problem::not_found(format!("There is no batch {id}.")).hint(Some(
        "It is forgotten once its job has left the history. A job without settings of its own for children may be none.",
    ))
}
