//! Words of a closed set that statements give.

use crate::pg::error::{Result, internal, quoted};

/// What the word stands for. One that is not known must not pass for another.
pub fn read<T, const N: usize>(word: &str, known: [(&str, T); N]) -> Result<T> {
    let found = known.into_iter().find(|&(name, _)| name == word);
    found.map(|(_, meaning)| meaning).ok_or_else(|| {
        internal("a statement has given an unknown word").detail(format!("It is {}.", quoted(word)))
    })
}
