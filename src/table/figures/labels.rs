//! The names under which a job is counted.

use crate::job::column;
use crate::pg::tuple::RawRow;
use turnstile_scheduler::figures::Labels;

pub fn labels_of(row: &RawRow) -> Labels {
    Labels::of([
        row.text(column::QUEUE),
        row.text(column::TENANT),
        row.text(column::ACCOUNT),
        row.text(column::CONCURRENCY_KEY),
    ])
}
