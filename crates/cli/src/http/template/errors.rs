//! Why a text is no template, and why a payload gives no URL.

use std::borrow::Cow;
use std::fmt;

/// Why a text is no template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid(Cow<'static, str>);

impl Invalid {
    pub fn because(reason: impl Into<Cow<'static, str>>) -> Self {
        Self(reason.into())
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the URL cannot be used: {}", self.0)
    }
}

impl std::error::Error for Invalid {}

/// Why a payload gives no URL. It names the placeholder, never the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    pub placeholder: Option<String>,
    pub reason: &'static str,
}

impl Unfit {
    pub fn of(placeholder: Option<&str>, reason: &'static str) -> Self {
        Self {
            placeholder: placeholder.map(str::to_owned),
            reason,
        }
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.placeholder {
            Some(name) => write!(formatter, "{{{name}}} {}", self.reason),
            None => write!(formatter, "the URL {}", self.reason),
        }
    }
}

impl std::error::Error for Unfit {}
