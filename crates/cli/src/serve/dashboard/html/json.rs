//! JSON that people read. Its text is laid out anew and never parsed into values: numbers stay as they are, whatever their size.

use maud::{Markup, html};

/// What fits on a line stays on it.
const LINE: usize = 72;
const INDENT: usize = 2;
/// Deeper levels begin where this one does, so that the text stays in proportion.
const DEEPEST: usize = 24;

/// Closed at first. `text` is valid JSON; what is not is shown as it is.
pub fn folded(summary: &str, text: &str) -> Markup {
    html! {
        details.json {
            summary { (summary) " " span.faint { (size(text)) } }
            (open(text))
        }
    }
}

pub fn open(text: &str) -> Markup {
    html! { pre.json tabindex="0" { (pretty(text)) } }
}

fn size(text: &str) -> String {
    let (number, unit) = super::number::bytes_text(text.len() as i64);
    format!("{number}\u{a0}{unit}")
}

/// The text with line breaks and indentation.
pub fn pretty(text: &str) -> String {
    let tokens = tokens(text);
    let short = fits(&tokens);
    let mut written = String::with_capacity(text.len() * 2);
    let mut depth: usize = 0;
    // The level within which everything stands on one line.
    let mut line_from = None;
    for (at, token) in tokens.iter().enumerate() {
        match *token {
            "{" | "[" => {
                let is_empty = matches!(tokens.get(at + 1), Some(&("}" | "]")));
                depth += 1;
                if line_from.is_none() && (is_empty || short.get(at) == Some(&true)) {
                    line_from = Some(depth);
                }
                written.push_str(token);
                if line_from.is_none() {
                    new_line(&mut written, depth);
                }
            }
            "}" | "]" => {
                let on_line = line_from.is_some();
                if line_from == Some(depth) {
                    line_from = None;
                }
                depth = depth.saturating_sub(1);
                if !on_line {
                    new_line(&mut written, depth);
                }
                written.push_str(token);
            }
            "," => {
                written.push(',');
                match line_from {
                    Some(_) => written.push(' '),
                    None => new_line(&mut written, depth),
                }
            }
            ":" => written.push_str(": "),
            other => written.push_str(other),
        }
    }
    written
}

fn new_line(written: &mut String, depth: usize) {
    written.push('\n');
    written.extend(std::iter::repeat_n(' ', depth.min(DEEPEST) * INDENT));
}

/// Brackets, commas, colons, and all else between white space.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = match first {
            ' ' | '\t' | '\n' | '\r' => {
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            '{' | '}' | '[' | ']' | ',' | ':' => 1,
            '"' => string_end(rest),
            _ => rest
                .find([' ', '\t', '\n', '\r', '{', '}', '[', ']', ',', ':', '"'])
                .unwrap_or(rest.len()),
        };
        let (token, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        tokens.push(token);
        rest = after;
    }
    tokens
}

/// Behind the quote that ends a string.
fn string_end(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Of each token that opens something: whether all until its end fits on a line. The outermost is never short.
fn fits(tokens: &[&str]) -> Vec<bool> {
    let mut fits = vec![false; tokens.len()];
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut width = 0;
    for (at, token) in tokens.iter().enumerate() {
        if matches!(*token, "{" | "[") {
            open.push((at, width));
        }
        width += token.chars().count() + usize::from(matches!(*token, "," | ":"));
        if matches!(*token, "}" | "]")
            && let Some((began, before)) = open.pop()
            && let Some(fit) = fits.get_mut(began)
        {
            *fit = began > 0 && width - before <= LINE;
        }
    }
    fits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_as_they_are() {
        let text = r#"{"id": 9007199254740993, "sum": 1234567890.12345678901234567890, "far": 1e400, "small": 1.50}"#;
        let laid_out = pretty(text);
        assert_eq!(
            laid_out,
            "{\n  \"id\": 9007199254740993,\n  \"sum\": 1234567890.12345678901234567890,\n  \"far\": 1e400,\n  \"small\": 1.50\n}"
        );
    }

    #[test]
    fn what_is_short_stays_on_a_line() {
        assert_eq!(
            pretty(r#"{"to":["a","b"],"of":{"x":[],"y":{}},"none":[ ]}"#),
            "{\n  \"to\": [\"a\", \"b\"],\n  \"of\": {\"x\": [], \"y\": {}},\n  \"none\": []\n}"
        );
        let long = format!(r#"[["{}"]]"#, "x".repeat(LINE));
        assert_eq!(
            pretty(&long),
            format!("[\n  [\n    \"{}\"\n  ]\n]", "x".repeat(LINE))
        );
    }

    #[test]
    fn strings_are_left_alone() {
        let text = r#"["a, b: {c}", "quote \" and \\", "ü€😀", "<script>"]"#;
        assert_eq!(
            pretty(text),
            "[\n  \"a, b: {c}\",\n  \"quote \\\" and \\\\\",\n  \"ü€😀\",\n  \"<script>\"\n]"
        );
    }

    #[test]
    fn scalars_and_what_is_no_json() {
        for text in [
            "", "null", "\"x\"", "-1.5e-3", "{", "}]", "\"open", "[1", "\\", "\"\\",
        ] {
            let _ = pretty(text);
        }
        assert_eq!(pretty(" true "), "true");
    }

    #[test]
    fn depth_costs_no_more_than_length() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert!(pretty(&deep).len() < 200_000 * (2 + DEEPEST * INDENT));
    }

    #[test]
    fn tags_are_escaped() {
        let text = folded(
            "<script>",
            r#"{"<script>": "</pre><script>alert(1)</script>"}"#,
        )
        .into_string();
        assert!(!text.contains("<script>"));
    }
}
