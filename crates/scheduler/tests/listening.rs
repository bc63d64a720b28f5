//! Listeners, producers, the notifier and the clock in random order: nobody waits beside work, none is told twice.
//!
//! `TURNSTILE_STEPS` sets how many steps the test takes, `TURNSTILE_SEED` runs one seed only.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod random;
mod tower;

use random::{seeds, setting};
use tower::run;
use turnstile_scheduler::waiting::listening::{Bells, MOST_BELLS, TO_CLAIM};

const STEPS_A_NIGHT: u64 = 10_000;
const DEFAULT_STEPS: u64 = 10_000_000;

#[test]
fn no_notification_is_lost() {
    let steps = setting("TURNSTILE_STEPS").unwrap_or(DEFAULT_STEPS);
    for seed in seeds(steps, STEPS_A_NIGHT) {
        run(seed, STEPS_A_NIGHT).unwrap();
    }
}

#[test]
fn names_that_nobody_claims_from_give_way_and_no_others() {
    let mut bells = Bells::default();
    for queue in 1..=MOST_BELLS as u64 {
        assert!(bells.listen(queue, queue as i64));
    }
    let new = 1_000;
    assert!(!bells.listen(new, TO_CLAIM), "all of them may still claim");
    for queue in 1..=60 {
        assert!(bells.note_claim(queue));
    }
    let late = TO_CLAIM + MOST_BELLS as i64;
    for number in 0..4 {
        assert!(bells.listen(new + number, late), "the oldest gives way");
        assert!(!bells.note_claim(61 + number));
    }
    assert!(!bells.listen(new + 4, late), "the others are in use or new");
    for queue in (1..=60).chain(new..new + 4) {
        assert!(bells.note_claim(queue), "{queue} is still listened to");
    }
    assert!(!bells.listen(new + 4, i64::MAX), "all of them are in use");
}

#[test]
fn a_name_that_gives_way_while_it_is_armed_leaves_nothing_armed() {
    let mut bells = Bells::default();
    for queue in 1..=MOST_BELLS as u64 {
        assert!(bells.listen(queue, 0));
    }
    // A claim from all queues that finds nothing.
    while let Some(unread) = bells.arm(turnstile_scheduler::EVERY_QUEUE) {
        bells.set(unread, true);
    }
    assert!(bells.is_any_armed());
    for queue in 101..=100 + MOST_BELLS as u64 {
        assert!(bells.listen(queue, TO_CLAIM));
    }
    assert!(!bells.is_any_armed());
}
