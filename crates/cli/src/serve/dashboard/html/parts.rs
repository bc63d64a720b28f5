//! Small parts of text: names, identifiers, links, long texts.

use std::borrow::Cow;

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
    html! { bdi { (visible(text)) } }
}

pub fn mono(text: &str) -> Markup {
    html! { code { (text) } }
}

/// Text of several lines, as an error has it.
pub fn block(text: &str) -> Markup {
    html! { pre tabindex="0" { (visible(text)) } }
}

/// Control characters, as those of a terminal's colors, are no text of a page: their symbols stand for them.
fn visible(text: &str) -> Cow<'_, str> {
    let is_hidden = |letter: char| letter.is_control() && !matches!(letter, '\n' | '\r' | '\t');
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let shown = |letter| match letter {
        '\0'..='\x1f' if is_hidden(letter) => {
            char::from_u32(0x2400 + u32::from(letter)).unwrap_or(char::REPLACEMENT_CHARACTER)
        }
        '\x7f' => '\u{2421}',
        letter if is_hidden(letter) => char::REPLACEMENT_CHARACTER,
        letter => letter,
    };
    Cow::Owned(text.chars().map(shown).collect())
}

/// The beginning of a text in one line, with the whole on hover.
pub fn cut(text: &str, most: usize) -> Markup {
    let text = &*visible(text);
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
    fn control_characters_are_seen() {
        assert_eq!(visible("a\tb\r\n"), "a\tb\r\n");
        assert_eq!(
            visible("\x1b[31m\0\x7f\u{85}"),
            "\u{241b}[31m\u{2400}\u{2421}\u{fffd}"
        );
        assert_eq!(
            block("\x07").into_string(),
            "<pre tabindex=\"0\">\u{2407}</pre>"
        );
    }

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
