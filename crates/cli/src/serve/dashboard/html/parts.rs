//! Small parts of text: names, identifiers, links, long texts.

use maud::{Markup, html};

/// A name of a thing that has a page.
pub fn link(href: &str, text: &str) -> Markup {
    html! { a href=(href) { (name(text)) } }
}

/// A job, by its number.
pub fn job(href: &str, id: i64) -> Markup {
    html! { a href=(href) { (id) } }
}

/// A name that users gave. One that is empty is seen, too.
pub fn name(text: &str) -> Markup {
    if text.is_empty() {
        return html! { span.none { "(empty)" } };
    }
    html! { bdi { (text) } }
}

/// A name that may be absent.
pub fn name_or_none(text: Option<&str>) -> Markup {
    super::number::or_none(text, name)
}

pub fn mono(text: &str) -> Markup {
    html! { code { (text) } }
}

/// Text of several lines, as an error has it.
pub fn block(text: &str) -> Markup {
    html! { pre tabindex="0" { (text) } }
}

/// The beginning of a text in one line, with the whole on hover.
pub fn cut(text: &str, most: usize) -> Markup {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(most) {
        None if line.len() == text.trim_end().len() => name(text.trim_end()),
        None => html! { bdi title=(text) { (line) " …" } },
        Some((end, _)) => html! { bdi title=(text) { (line.get(..end).unwrap_or(line)) "…" } },
    }
}

pub fn faint(text: &str) -> Markup {
    html! { span.faint { (text) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(cut("äöü", 3).into_string(), "<bdi>äöü</bdi>");
        assert_eq!(
            cut("äöüß", 3).into_string(),
            "<bdi title=\"äöüß\">äöü…</bdi>"
        );
        assert_eq!(
            cut("one\ntwo", 9).into_string(),
            "<bdi title=\"one\ntwo\">one …</bdi>"
        );
        assert_eq!(cut("one\n", 9).into_string(), "<bdi>one</bdi>");
        assert_eq!(
            cut("", 9).into_string(),
            "<span class=\"none\">(empty)</span>"
        );
    }
}
