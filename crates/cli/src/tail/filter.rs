//! Which of the jobs that ended and of the runs that failed are shown.

use clap::ValueEnum;

use super::ended::Ended;

#[derive(clap::Args)]
#[command(next_help_heading = "Filters")]
pub struct Filter {
    /// Jobs of this queue; again for another
    #[arg(long)]
    queue: Vec<String>,
    /// Jobs of this tenant; again for another
    #[arg(long)]
    tenant: Vec<String>,
    /// Jobs of this kind; again for another
    #[arg(long)]
    kind: Vec<String>,
    /// Jobs that this worker ran; again for another
    #[arg(long)]
    worker: Vec<String>,
    /// Jobs that ended so, or runs that failed and will be repeated (retryable); again for another
    #[arg(long, value_enum)]
    state: Vec<State>,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum State {
    Completed,
    Cancelled,
    Discarded,
    Retryable,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            State::Completed => "completed",
            State::Cancelled => "cancelled",
            State::Discarded => "discarded",
            State::Retryable => "retryable",
        }
    }
}

impl Filter {
    pub fn lets_through(&self, job: &Ended) -> bool {
        is_one_of(&self.queue, job.queue.as_deref())
            && is_one_of(&self.tenant, job.tenant.as_deref())
            && is_one_of(&self.kind, job.kind.as_deref())
            && is_one_of(&self.worker, job.worker.as_deref())
            && (self.state.is_empty() || self.state.iter().any(|state| state.name() == job.state))
    }
}

fn is_one_of(wanted: &[String], value: Option<&str>) -> bool {
    wanted.is_empty() || value.is_some_and(|value| wanted.iter().any(|name| name == value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_wanted_is_everything_and_no_name_is_no_match() {
        let names = ["a".to_owned(), String::new()];
        assert!(is_one_of(&[], None));
        assert!(is_one_of(&names, Some("a")));
        assert!(is_one_of(&names, Some("")));
        assert!(!is_one_of(&names, Some("b")));
        assert!(!is_one_of(&names, None));
    }
}
