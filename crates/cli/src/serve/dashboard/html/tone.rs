//! How good or bad something is. Color never says it alone: an icon and a word go with it.

use super::icon::Icon;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Nothing to say about it.
    #[default]
    Plain,
    Info,
    Good,
    Warn,
    Bad,
}

impl Tone {
    pub fn class(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Info => "info",
            Self::Good => "good",
            Self::Warn => "warn",
            Self::Bad => "bad",
        }
    }

    pub fn icon(self) -> Icon {
        match self {
            Self::Plain => Icon::Dot,
            Self::Info => Icon::Info,
            Self::Good => Icon::Check,
            Self::Warn => Icon::Alert,
            Self::Bad => Icon::Cross,
        }
    }
}
