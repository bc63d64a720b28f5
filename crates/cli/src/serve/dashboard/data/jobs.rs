//! Lists of jobs, the newest first. There is no index for each filter, so a look goes back by id in windows, until the page is full or time is
//! up; jobs in a state that few have, and children of a job, are found by their indexes at once.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::filter::Filter;
use super::super::value::Value;
use super::super::view::View;
use super::source::Source;
use super::window::Windows;
use crate::listener::Problem;

const MINE: &str = include_str!("../sql/jobs_mine.sql");
const STATUS: &str = include_str!("../sql/jobs_status.sql");
const COUNT_MINE: &str = include_str!("../sql/count_mine.sql");
const COUNT_STATUS: &str = include_str!("../sql/count_status.sql");
const NEWEST: &str = include_str!("../sql/newest.sql");
const FEW: &str = include_str!("../sql/few.sql");

pub const FINISHED: &[&str] = &["completed", "cancelled", "discarded"];
/// So many jobs are read at once, and sorted.
const FEW_JOBS: i64 = 5_000;
/// Where everything matches, a page is full at once.
const FIRST_OF_ALL: i64 = 1_000;
const FIRST: i64 = 5_000;
/// Counts end here.
pub const MOST_COUNTED: i64 = 10_000;
/// Of so many it is looked whether they were brought back since.
const MOST_CHECKED: i64 = 2_500;

#[derive(Debug, Deserialize)]
pub struct Job {
    pub id: i64,
    pub state: String,
    pub kind: String,
    pub queue: String,
    pub tenant: Option<String>,
    pub account: Option<String>,
    pub session: Option<String>,
    pub concurrency_key: Option<String>,
    pub priority: i32,
    pub attempt: i32,
    pub max_attempts: i32,
    pub worker: Option<String>,
    pub parent: Option<i64>,
    pub is_cancel_requested: bool,
    /// This end was not its last: the job is live again, or has ended once more.
    pub is_brought_back: bool,
    pub created_at: Option<f64>,
    pub run_at: Option<f64>,
    pub started_at: Option<f64>,
    pub finished_at: Option<f64>,
    /// The first line of the last error, of jobs that failed, for who may see it.
    pub error: Option<String>,
    pub progress: Option<Box<RawValue>>,
}

/// What a page does not show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    Nothing,
    /// The page is full, and there may be more before this id.
    More(i64),
    /// Time was up: nothing is known of jobs before this id.
    Unknown(i64),
}

pub struct Page {
    pub jobs: Vec<Job>,
    pub rest: Rest,
}

pub struct Count {
    /// At most `MOST_COUNTED`.
    pub jobs: i64,
    pub rest: Rest,
    /// Whether ends from which a job was brought back are left out.
    pub is_exact: bool,
}

impl Count {
    /// Whether there may be more than were counted.
    pub fn is_capped(&self) -> bool {
        self.rest != Rest::Nothing
    }
}

#[derive(Deserialize)]
struct Newest {
    id: Option<i64>,
}

#[derive(Deserialize)]
struct Few {
    scheduled: i64,
    retryable: i64,
    blocked: i64,
    running: i64,
    waiting: i64,
}

/// Jobs with ids below `before`.
pub async fn page(
    view: &View,
    filter: &Filter,
    before: Option<i64>,
    most: usize,
) -> Result<Page, Problem> {
    let states: Vec<&str> = Some(filter.state.as_str())
        .filter(|state| !state.is_empty())
        .into_iter()
        .collect();
    let look = Look::new(view, filter, &states).await?;
    let mut ranges = look.ranges(view, before).await?;
    let mut jobs: Vec<Job> = Vec::new();
    let rest = loop {
        let range = match ranges.next() {
            Ok(range) => range,
            Err(rest) => break rest,
        };
        let missing = i64::try_from(most.saturating_sub(jobs.len())).unwrap_or(i64::MAX);
        let arguments = look.arguments(range, missing);
        jobs.extend(
            view.rows::<Job>(look.pick(MINE, STATUS), &arguments)
                .await?,
        );
        let last = jobs.last().filter(|_| jobs.len() >= most);
        match last.map(|job| job.id) {
            None => {}
            Some(..=1) => break Rest::Nothing,
            Some(id) => break Rest::More(id),
        }
    };
    Ok(Page { jobs, rest })
}

/// How many jobs in these states the filter chooses, whatever state it names.
pub async fn count(view: &View, filter: &Filter, states: &[&str]) -> Result<Count, Problem> {
    let look = Look::new(view, filter, states).await?;
    let mut ranges = look.ranges(view, None).await?;
    let mut jobs = 0;
    let has_ends = states.iter().any(|state| FINISHED.contains(state));
    let mut is_checked = has_ends;
    let rest = loop {
        let range = match ranges.next() {
            Ok(range) => range,
            Err(rest) => break rest,
        };
        if is_checked {
            let last_ends = look.count(view, range, MOST_CHECKED - jobs, true).await?;
            if jobs + last_ends < MOST_CHECKED {
                jobs += last_ends;
                continue;
            }
            // To look at each would take too long.
            is_checked = false;
        }
        jobs += look.count(view, range, MOST_COUNTED - jobs, false).await?;
        if jobs >= MOST_COUNTED {
            break Rest::More(range.low);
        }
    };
    Ok(Count {
        jobs,
        rest,
        is_exact: is_checked || !has_ends,
    })
}

#[derive(Clone, Copy)]
struct Range {
    low: i64,
    high: i64,
}

struct Look {
    source: Source,
    filters: Vec<Value>,
    payload: Value,
    /// All that may match is found by an index.
    is_indexed: bool,
    first: i64,
}

impl Look {
    async fn new(view: &View, filter: &Filter, states: &[&str]) -> Result<Self, Problem> {
        let parent = filter.parent()?;
        let finished = states.iter().filter(|state| FINISHED.contains(state));
        let is_live = match finished.count() {
            0 if states.is_empty() => None,
            0 => Some(true),
            count if count == states.len() => Some(false),
            _ => None,
        };
        let filters = vec![
            Filter::text(&filter.queue),
            Filter::text(&filter.kind),
            Filter::text(&filter.tenant),
            Filter::text(&filter.account),
            Filter::text(&filter.session),
            Value::Texts(states.iter().map(|&state| state.to_owned()).collect()),
            Value::Flag(is_live),
            Value::from(filter.older()?),
            Value::Long(None),
            Value::from(parent),
        ];
        let is_indexed = match parent {
            Some(parent) => super::job::has_few_children(view, parent, FEW_JOBS).await?,
            None => is_live == Some(true) && few(view, &filter.queue, states).await?,
        };
        let is_all = filter.is_empty() && states.is_empty();
        Ok(Self {
            source: Source::of(view, !filter.payload.is_empty()).await?,
            filters,
            payload: filter.payload()?,
            is_indexed,
            first: if is_all { FIRST_OF_ALL } else { FIRST },
        })
    }

    fn pick(&self, mine: &'static str, status: &'static str) -> &'static str {
        match self.source {
            Source::Mine => mine,
            Source::Status => status,
        }
    }

    fn arguments(&self, range: Range, most: i64) -> Vec<Value> {
        let mut arguments = vec![
            Value::from(range.low),
            Value::from(range.high),
            Value::from(most),
        ];
        arguments.extend(self.filters.iter().cloned());
        if self.source == Source::Mine {
            arguments.push(self.payload.clone());
        }
        arguments
    }

    async fn count(
        &self,
        view: &View,
        range: Range,
        most: i64,
        is_checked: bool,
    ) -> Result<i64, Problem> {
        let mut arguments = self.arguments(range, most);
        arguments.push(Value::from(is_checked));
        let sql = self.pick(COUNT_MINE, COUNT_STATUS);
        Ok(view.row(sql, &arguments).await?.unwrap_or_default())
    }

    async fn ranges(&self, view: &View, before: Option<i64>) -> Result<Ranges, Problem> {
        let newest = if self.is_indexed {
            None
        } else {
            newest(view).await?
        };
        let top = newest.map(|newest| newest.saturating_add(1));
        let high = before.unwrap_or(i64::MAX).min(top.unwrap_or(i64::MAX));
        Ok(Ranges {
            high,
            windows: top.map(|_| Windows::new(self.first)),
            is_first: true,
        })
    }
}

/// Where to look, one range below the other.
struct Ranges {
    high: i64,
    /// None: one range has everything.
    windows: Option<Windows>,
    is_first: bool,
}

impl Ranges {
    /// Or what is known of the rest if there is no other.
    fn next(&mut self) -> Result<Range, Rest> {
        if self.high == i64::MIN {
            return Err(Rest::Nothing);
        }
        let high = self.high;
        self.high = match &mut self.windows {
            None => i64::MIN,
            Some(windows) => {
                if !self.is_first {
                    if windows.is_time_up() {
                        return Err(Rest::Unknown(high));
                    }
                    windows.grow();
                }
                match high.saturating_sub(windows.size()) {
                    ..=1 => i64::MIN,
                    low => low,
                }
            }
        };
        self.is_first = false;
        Ok(Range {
            low: self.high,
            high,
        })
    }
}

/// Not known to all roles: without it a look has no windows.
async fn newest(view: &View) -> Result<Option<i64>, Problem> {
    let found: Option<Newest> = view.row(NEWEST, &[]).await?;
    Ok(found.and_then(|newest| newest.id))
}

/// Whether few jobs are in these states, as figures know. Those that run are never many.
async fn few(view: &View, queue: &str, states: &[&str]) -> Result<bool, Problem> {
    if states == ["running"] {
        return Ok(true);
    }
    if !view.can.figures() {
        return Ok(false);
    }
    let figures: Option<Few> = view.row(FEW, &[Filter::text(queue)]).await?;
    let Some(figures) = figures else {
        return Ok(false);
    };
    let jobs: i64 = states
        .iter()
        .map(|&state| match state {
            "running" => figures.running,
            "scheduled" => figures.scheduled,
            "retryable" => figures.retryable,
            "blocked" => figures.blocked,
            _ => figures.waiting,
        })
        .sum();
    // Jobs that are available have no index of their own.
    Ok(jobs <= FEW_JOBS && !states.contains(&"available"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(high: i64, windows: Option<Windows>) -> Ranges {
        Ranges {
            high,
            windows,
            is_first: true,
        }
    }

    #[test]
    fn ranges_go_down_without_a_gap() {
        let mut ranges = ranges(7_000, Some(Windows::new(1_000)));
        let bounds = |range: Range| (range.low, range.high);
        assert_eq!(ranges.next().map(bounds), Ok((6_000, 7_000)));
        assert_eq!(ranges.next().map(bounds), Ok((2_000, 6_000)));
        assert_eq!(ranges.next().map(bounds), Ok((i64::MIN, 2_000)));
        assert_eq!(ranges.next().map(bounds), Err(Rest::Nothing));
    }

    #[test]
    fn one_range_has_everything_where_ids_are_not_known() {
        let mut ranges = ranges(i64::MAX, None);
        assert_eq!(ranges.next().map(|range| range.low), Ok(i64::MIN));
        assert_eq!(ranges.next().map(|range| range.low), Err(Rest::Nothing));
    }
}
