//! How jobs are looked for: their filters, and where to look. There is no index for each filter, so a look goes back by id in windows, until it has
//! enough or time is up; jobs in a state that few have, and children of a job, are found by their indexes at once.

use std::time::Duration;

use serde::Deserialize;

use super::super::filter::Filter;
use super::super::readings::has_timed_out;
use super::super::value::Value;
use super::super::view::View;
use super::job::{FINISHED, has_few_children};
use super::rest::Rest;
use super::running::{Running, running};
use super::source::Source;
use super::window::{BRIEF, ENOUGH, FEW_JOBS, Windows};
use crate::listener::Problem;

const NEWEST: &str = include_str!("../sql/newest.sql");
const FEW: &str = include_str!("../sql/few.sql");

/// Where everything matches, a page is full at once.
const FIRST_OF_ALL: i64 = 1_000;
const FIRST: i64 = 5_000;
/// Where the states are among the filters, and one in which no job is.
const STATES: usize = 5;
const NO_STATE: &str = "";

#[derive(Deserialize)]
struct Newest {
    id: Option<i64>,
}

#[derive(Deserialize)]
pub struct Few {
    scheduled: i64,
    retryable: i64,
    blocked: i64,
    pub running: i64,
    waiting: i64,
}

#[derive(Clone, Copy)]
pub struct Range {
    pub low: i64,
    pub high: i64,
}

pub struct Look {
    pub source: Source,
    filters: Vec<Value>,
    payload: Value,
    /// All that may match is found by an index.
    is_indexed: bool,
    /// How long a look by the index may take; there is another way.
    index_limit: Option<Duration>,
    /// Of the jobs that run, where they are known.
    running: Option<Running>,
    is_ended: bool,
    first: i64,
}

impl Look {
    pub async fn new(view: &View, filter: &Filter, states: &[&str]) -> Result<Self, Problem> {
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
            Some(parent) => has_few_children(view, parent, FEW_JOBS).await?,
            None => is_live == Some(true) && few(view, &filter.queue, states).await?,
        };
        let running = match states {
            ["running"] if parent.is_none() => running(view, &filter.queue).await?,
            _ => None,
        };
        // An index has rows of the past, too, as long as an old snapshot may see them, and runs of the past are the most.
        let index_limit = match (parent, &running) {
            (Some(_), _) => None,
            (None, None) if states == ["running"] => Some(BRIEF),
            (None, _) => Some(ENOUGH),
        };
        let is_all = filter.is_empty() && states.is_empty();
        Ok(Self {
            source: Source::of(view, !filter.payload.is_empty()).await?,
            filters,
            payload: filter.payload()?,
            is_indexed,
            index_limit,
            running,
            is_ended: is_live == Some(false),
            first: if is_all { FIRST_OF_ALL } else { FIRST },
        })
    }

    /// `more`: behind those that lists and counts share.
    pub fn arguments(&self, range: Range, most: i64, more: Option<Value>) -> Vec<Value> {
        let mut arguments = vec![
            Value::from(range.low),
            Value::from(range.high),
            Value::from(most),
        ];
        arguments.extend(self.filters.iter().cloned());
        arguments.push(match &self.running {
            Some(running) => ids_of(&running.ids),
            None => Value::Text(None),
        });
        arguments.push(self.payload.clone());
        arguments.extend(more);
        arguments
    }

    /// Gives it the time that this way to look may take.
    pub fn bounded(&self, view: &View) -> View {
        match self.index_limit.filter(|_| self.is_indexed) {
            Some(limit) => view.within(limit),
            None => view.clone(),
        }
    }

    /// Whether to look by windows after all: the index has so many rows of the past that it took too long.
    pub fn gives_up_index(&mut self, problem: &Problem) -> bool {
        let gives_up = self.is_indexed && has_timed_out(problem);
        if gives_up {
            self.is_indexed = false;
            // The server takes an index of one state no more where there may be others.
            if let Some(Value::Texts(states)) = self.filters.get_mut(STATES) {
                states.push(NO_STATE.to_owned());
            }
        }
        gives_up
    }

    pub async fn ranges(&self, view: &View, before: Option<i64>) -> Result<Ranges, Problem> {
        let newest = if self.is_indexed {
            None
        } else {
            newest(view).await?
        };
        let Some(newest) = newest else {
            return Ok(Ranges {
                high: before.unwrap_or(i64::MAX),
                windows: None,
                is_first: true,
                skips_live: false,
                missing: self.running.as_ref().map_or(0, |running| running.missing),
            });
        };
        let windows = Windows::new(self.first);
        let top = newest.saturating_add(1);
        Ok(Ranges {
            high: before.map_or(top, |before| before.min(top)),
            windows: Some(windows),
            is_first: true,
            skips_live: self.is_ended && view.can.reads("job_status"),
            missing: 0,
        })
    }
}

/// Where to look, one range below the other.
pub struct Ranges {
    high: i64,
    /// None: one range has everything.
    windows: Option<Windows>,
    is_first: bool,
    skips_live: bool,
    /// So many run that were not found.
    missing: i64,
}

impl Ranges {
    /// Before each range where only jobs that have ended are looked for: there may be millions of live ones in between.
    pub async fn skip_live(&mut self, view: &View) -> Result<(), Problem> {
        if self.skips_live && self.high > 1 {
            self.high = super::ended::bound(view, self.high).await?;
        }
        Ok(())
    }

    /// Or what is known of the rest if there is no other.
    pub fn next(&mut self) -> Result<Range, Rest> {
        if self.high == i64::MIN {
            return Err(match self.missing {
                0 => Rest::Nothing,
                missing => Rest::Unread(missing),
            });
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

/// As the text of an array.
pub fn ids_of(ids: &[i64]) -> Value {
    let texts: Vec<String> = ids.iter().map(i64::to_string).collect();
    Value::text(format!("{{{}}}", texts.join(",")))
}

/// Of a queue, or of all.
pub async fn figures(view: &View, queue: &Value) -> Result<Option<Few>, Problem> {
    view.row(FEW, std::slice::from_ref(queue)).await
}

/// Whether few jobs are in these states, as figures know. Those that run are never many.
async fn few(view: &View, queue: &str, states: &[&str]) -> Result<bool, Problem> {
    if states == ["running"] {
        return Ok(true);
    }
    if !view.can.figures() {
        return Ok(false);
    }
    let Some(figures) = figures(view, &Filter::text(queue)).await? else {
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
            skips_live: false,
            missing: 0,
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
