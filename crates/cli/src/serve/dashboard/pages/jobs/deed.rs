//! What can be done with all jobs that match: in words, and to which jobs.

use crate::serve::dashboard::changes::Deed;
use crate::serve::dashboard::html::tone::Tone;
use crate::serve::dashboard::view::View;

pub struct Words {
    pub deed: Deed,
    /// As the parameter of the preview has it.
    pub name: &'static str,
    pub verb: &'static str,
    /// What is true of a job afterwards, as the heading of a figure.
    pub heading: &'static str,
    /// The function of the schema that does it.
    pub function: &'static str,
    /// Where the form is sent.
    pub path: &'static str,
    /// Without a state in the filter it is about jobs in these.
    pub usual: &'static [&'static str],
    /// The other states that may be asked for.
    pub others: &'static [&'static str],
    pub effect: &'static str,
    pub tone: Tone,
}

pub const ALL: &[Words] = &[
    Words {
        deed: Deed::Retry,
        name: "retry",
        verb: "Retry",
        heading: "Retried",
        function: "retry_many",
        path: "/jobs/retry",
        usual: &["retryable", "cancelled", "discarded"],
        others: &["scheduled", "completed"],
        effect: "Each becomes available now, with all of its attempts before it. No more are retried than were counted, as a job that fails again meanwhile matches again. Jobs whose unique key another job holds are skipped.",
        tone: Tone::Info,
    },
    Words {
        deed: Deed::Cancel,
        name: "cancel",
        verb: "Cancel",
        heading: "Cancelled",
        function: "cancel_many",
        path: "/jobs/cancel",
        usual: &["available", "scheduled", "running", "retryable", "blocked"],
        others: &[],
        effect: "Those that wait end as cancelled. Those that run are asked to stop: their workers learn of it with the next heartbeat.",
        tone: Tone::Bad,
    },
    Words {
        deed: Deed::Discard,
        name: "discard",
        verb: "Discard",
        heading: "Discarded",
        function: "discard_many",
        path: "/jobs/discard",
        usual: &["available", "scheduled", "retryable", "blocked"],
        others: &[],
        effect: "Each ends for good as a failure. Those that run go on.",
        tone: Tone::Bad,
    },
];

impl Words {
    pub fn of(deed: Deed) -> Option<&'static Self> {
        ALL.iter().find(|words| words.deed == deed)
    }

    pub fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|words| words.name == name)
    }

    /// In which states a job must be, or none if the deed is not about the state that was asked for.
    pub fn states<'a>(&self, state: &'a str) -> Vec<&'a str>
    where
        'static: 'a,
    {
        if state.is_empty() {
            return self.usual.to_vec();
        }
        let mut known = self.usual.iter().chain(self.others);
        known
            .any(|known| *known == state)
            .then_some(state)
            .into_iter()
            .collect()
    }

    pub fn is_offered(&self, view: &View) -> bool {
        view.may(self.function)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deed_is_about_some_states() {
        let retry = Words::named("retry").unwrap();
        assert_eq!(retry.states(""), ["retryable", "cancelled", "discarded"]);
        assert_eq!(retry.states("completed"), ["completed"]);
        assert!(retry.states("running").is_empty());
        assert!(Words::named("forget").is_none());
        for words in ALL {
            assert_eq!(Words::of(words.deed).unwrap().name, words.name);
        }
    }
}
