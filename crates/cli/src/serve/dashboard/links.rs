//! Paths of this dashboard with their parameters.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What stands for itself in a query.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// A path with parameters, without those that have no value.
pub struct Link {
    text: String,
    separator: char,
}

impl Link {
    pub fn new(base: &str, path: &str) -> Self {
        Self {
            text: format!("{base}{path}"),
            separator: '?',
        }
    }

    pub fn with(mut self, name: &str, value: impl AsRef<str>) -> Self {
        self.text.push(self.separator);
        self.separator = '&';
        self.text.extend(utf8_percent_encode(name, PLAIN));
        self.text.push('=');
        self.text.extend(utf8_percent_encode(value.as_ref(), PLAIN));
        self
    }

    pub fn with_some(self, name: &str, value: Option<impl AsRef<str>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    pub fn text(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_encoded() {
        let link = Link::new("/q", "/jobs")
            .with("queue", "a&b=c/é #")
            .with_some("tenant", None::<&str>)
            .with_some("state", Some("running"));
        assert_eq!(
            link.text(),
            "/q/jobs?queue=a%26b%3Dc%2F%C3%A9%20%23&state=running"
        );
    }
}
