//! Each fault seeded in the accounting of listeners must be noticed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod tower;

use tower::run;
use turnstile_scheduler::faults::{Seeded, arm};

/// One test, because a fault is armed for the whole process.
#[test]
fn every_seeded_fault_is_noticed() {
    let first_failure = || (1..=20).find_map(|seed| run(seed, 10_000).err());
    assert_eq!(first_failure(), None);
    for fault in Seeded::OF_LISTENING {
        arm(Some(fault));
        let failure = first_failure();
        arm(None);
        let failure = failure.unwrap_or_else(|| panic!("{fault:?} goes unnoticed"));
        println!("{fault:?}: {failure}");
    }
}
