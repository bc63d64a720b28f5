//! What comes behind the options in the help: sections such as Examples.

use clap::Command;

pub struct Section {
    pub title: String,
    pub lines: Vec<String>,
}

/// A line that ends in a colon and is not indented is a title; what is indented below it is its text.
pub fn of(command: &Command) -> Vec<Section> {
    let text = command
        .get_after_long_help()
        .map(ToString::to_string)
        .unwrap_or_default();
    let mut sections: Vec<Section> = Vec::new();
    for line in text.lines() {
        let title = line.strip_suffix(':').filter(|_| !line.starts_with(' '));
        match (title, sections.last_mut()) {
            (Some(title), _) => sections.push(Section {
                title: title.to_owned(),
                lines: Vec::new(),
            }),
            (None, Some(section)) => {
                let line = line.strip_prefix("  ").unwrap_or(line);
                section.lines.push(line.trim_end().to_owned());
            }
            (None, None) => {}
        }
    }
    for section in &mut sections {
        while section.lines.last().is_some_and(String::is_empty) {
            section.lines.pop();
        }
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_and_what_is_below_them() {
        let command =
            Command::new("x").after_long_help("One:\n  a: b\n    c\n\n  d:\n\nTwo:\n  e\n");
        let found = of(&command);
        let found: Vec<_> = found
            .iter()
            .map(|it| (&*it.title, it.lines.join("|")))
            .collect();
        let expected = [("One", "a: b|  c||d:"), ("Two", "e")];
        assert_eq!(
            found,
            expected.map(|(title, lines)| (title, lines.to_owned()))
        );
    }
}
