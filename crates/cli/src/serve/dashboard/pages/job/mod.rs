use maud::html;

use super::Content;
use crate::listener::Problem;
use crate::serve::dashboard::view::View;

pub async fn draw(view: View) -> Result<Content, Problem> {
    Ok(Content::new("Soon").still("soon", html! { p { (view.now()) } }))
}
