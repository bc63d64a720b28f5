//! What is wrong, as a page.

use maud::{Markup, html};

use crate::listener::Problem;
use crate::serve::dashboard::content::Content;
use crate::serve::dashboard::html::tone::Tone;
use crate::serve::dashboard::html::{layout, note};

pub fn content(problem: &Problem) -> Content {
    let heading = layout::heading(html! { (problem.title()) }, html! {}, html! {});
    Content::new(problem.title()).still("problem", html! { (heading) (told(problem)) })
}

/// For those of whom it is not known who they are.
pub fn alone(base: &str, problem: &Problem) -> Markup {
    layout::bare(base, problem.title(), told(problem))
}

pub fn told(problem: &Problem) -> Markup {
    let title = match problem.code() {
        Some(code) => format!("{} (SQLSTATE {code})", problem.title()),
        None => problem.title().to_owned(),
    };
    note::note(Tone::Bad, &title, problem.detail(), problem.advice())
}
