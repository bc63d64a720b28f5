//! Patterns of kinds, in which `*` stands for any number of characters. `fail_runs.sql` says the same of those of retry curves.

use std::cmp::Reverse;

/// Whether a kind matches a pattern.
pub fn matches(pattern: &str, kind: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return pattern == kind;
    };
    let Some(mut left) = kind.strip_prefix(start) else {
        return false;
    };
    let (middle, end) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*') {
        let Some((_, after)) = left.split_once(part) else {
            return false;
        };
        left = after;
    }
    left.ends_with(end)
}

/// A pattern of LIKE, with `!` as its escape, that the same kinds match.
pub fn like(pattern: &str) -> String {
    let mut like = String::with_capacity(pattern.len());
    for letter in pattern.chars() {
        match letter {
            '*' => like.push('%'),
            '!' | '%' | '_' => like.extend(['!', letter]),
            letter => like.push(letter),
        }
    }
    like
}

/// Of the patterns that a kind matches, the one of the lowest rank wins: that without a wildcard, then the one with the most literal
/// characters, then the first by name.
pub fn rank(pattern: &str) -> (bool, Reverse<usize>, &str) {
    let literals = pattern.chars().filter(|&letter| letter != '*').count();
    (pattern.contains('*'), Reverse(literals), pattern)
}
