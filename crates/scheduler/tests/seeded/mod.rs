//! Faults of a model that is cheap to run.

use turnstile_scheduler::testing::faults::{Seeded, arm};

/// A fault is armed for the whole process, so only one test of a process may call this.
pub fn each_is_noticed(faults: &[Seeded], run: fn(u64, u64) -> Result<(), String>) {
    let first_failure = || (1..=20).find_map(|seed| run(seed, 10_000).err());
    assert_eq!(first_failure(), None);
    for &fault in faults {
        arm(Some(fault));
        let failure = first_failure();
        arm(None);
        let failure = failure.unwrap_or_else(|| panic!("{fault:?} goes unnoticed"));
        println!("{fault:?}: {failure}");
    }
}
