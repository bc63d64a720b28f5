//! Where ended jobs begin, seen from the newest job: behind a large backlog none of the newest millions has ended.

use super::super::value::Value;
use super::super::view::View;
use crate::listener::Problem;

const BETWEEN: &str = include_str!("../sql/ended_between.sql");

/// What a look goes through at once.
const NARROW: i64 = 20_000;
const STEP: i64 = 8;

/// No job with this id or a higher one below `top` has ended. To find nothing in a range is quick however large it is.
pub async fn bound(view: &View, top: i64) -> Result<i64, Problem> {
    let mut search = Search::new(top);
    while let Some((low, high)) = search.question() {
        let arguments = [Value::from(low), Value::from(high)];
        let is_there = view.row(BETWEEN, &arguments).await?.unwrap_or(true);
        search.answer(is_there);
    }
    Ok(search.high)
}

/// Goes down in steps that grow until there is one, and then halves the last step.
struct Search {
    low: i64,
    high: i64,
    asked: i64,
    is_found: bool,
}

impl Search {
    fn new(top: i64) -> Self {
        let low = top.saturating_sub(NARROW);
        Self {
            low,
            high: top,
            asked: low,
            is_found: false,
        }
    }

    fn question(&self) -> Option<(i64, i64)> {
        let is_over = if self.is_found {
            self.high - self.low <= NARROW
        } else {
            self.high <= 1
        };
        (!is_over).then_some((self.asked, self.high))
    }

    fn answer(&mut self, is_there: bool) {
        match (is_there, self.is_found) {
            (true, _) => {
                self.low = self.asked;
                self.is_found = true;
            }
            (false, true) => self.high = self.asked,
            (false, false) => {
                let step = (self.high - self.asked).saturating_mul(STEP);
                self.high = self.asked;
                self.low = self.high.saturating_sub(step).max(1);
            }
        }
        self.asked = if self.is_found {
            self.low + (self.high - self.low) / 2
        } else {
            self.low
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(top: i64, newest: Option<i64>) -> (i64, usize) {
        let mut search = Search::new(top);
        let mut questions = 0;
        while let Some((low, high)) = search.question() {
            questions += 1;
            search.answer(newest.is_some_and(|newest| low <= newest && newest < high));
        }
        (search.high, questions)
    }

    #[test]
    fn the_bound_is_near_the_newest_that_has_ended() {
        assert_eq!(found(10_000_000, Some(9_999_999)), (10_000_000, 1));
        for newest in [1, 2, 30_000, 777_777, 5_000_000, 9_900_000] {
            let (bound, questions) = found(10_000_000, Some(newest));
            assert!(
                newest < bound && bound <= newest + NARROW + 1,
                "{newest}: {bound}"
            );
            assert!(questions <= 16, "{newest}: {questions} questions");
        }
        assert!(found(10_000_000, None).0 <= 1);
        assert!(found(0, None).0 <= 1);
    }
}
