//! What a lever has done: where to go on, and what the page there says of it.

use serde::Deserialize;

use crate::serve::dashboard::html::layout::Notice;
use crate::serve::dashboard::links::Link;
use crate::serve::dashboard::view::View;

/// What was done, as the page behind it says. Its words are here and not in the URL, or a link could have the page say anything.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Said {
    code: &'static str,
    text: &'static str,
}

macro_rules! said {
    ($($name:ident $code:literal $text:literal;)*) => {
        $(pub const $name: Said = Said { code: $code, text: $text };)*
        const ALL: &[Said] = &[$($name),*];
    };
}

said! {
    PAUSED "paused" "Paused: nothing more starts. What runs goes on. What had no settings of its own has a copy of the defaults now.";
    RESUMED "resumed" "Resumed. What had no settings of its own has a copy of the defaults now.";
    LIMITS "limits" "The settings are changed, and apply at once.";
    RETRIED "retried" "The job is available again.";
    CANCELLED "cancelled" "The job is cancelled.";
    ASKED "asked" "The run was asked to stop. Its worker learns of it with its next heartbeat.";
    DISCARDED "discarded" "The job is discarded.";
    PRIORITY "priority" "The priority is changed.";
    STOPPED "stopped" "Stopped: what was changed remains so.";
}

/// Where to go on.
pub struct Done {
    path: &'static str,
    parameters: Vec<(&'static str, String)>,
    said: Option<Said>,
}

impl Done {
    pub fn at(path: &'static str) -> Self {
        Self {
            path,
            parameters: Vec::new(),
            said: None,
        }
    }

    pub fn with(mut self, name: &'static str, value: impl ToString) -> Self {
        self.parameters.push((name, value.to_string()));
        self
    }

    pub fn saying(mut self, said: Said) -> Self {
        self.said = Some(said);
        self
    }

    pub fn location(&self, view: &View) -> String {
        let link = Link::new(view.base(), self.path);
        self.parameters
            .iter()
            .fold(link, |link, (name, value)| link.with(name, value))
            .with_some("done", self.said.map(|said| said.code))
            .text()
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Query {
    done: Option<String>,
}

/// What the page says of the lever that led to it.
pub fn notice(view: &View) -> Option<Notice> {
    let Query { done } = view.query().ok()?;
    let done = done?;
    let said = ALL.iter().find(|said| said.code == done)?;
    Some(Notice {
        text: said.text.to_owned(),
    })
}
