//! Listeners, producers, the notifier and the clock in random order: no listener waits beside work, and none is told twice.
//!
//! `TURNSTILE_STEPS` sets how many steps the test takes, `TURNSTILE_SEED` runs one seed only.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod channel_model;
mod random;

use channel_model::run;
use random::run_seeds;
use turnstile_scheduler::waiting::{Channels, MAX_CHANNELS, TIME_TO_CLAIM};

const STEPS_A_RUN: u64 = 10_000;
const DEFAULT_STEPS: u64 = 10_000_000;

#[test]
fn no_notification_is_lost() {
    run_seeds(DEFAULT_STEPS, STEPS_A_RUN, run);
}

#[test]
fn only_channels_that_nobody_claims_from_are_replaced() {
    let mut channels = Channels::default();
    for queue in 1..=MAX_CHANNELS as u64 {
        assert!(channels.listen(queue, queue as i64));
    }
    let new = 1_000;
    assert!(
        !channels.listen(new, TIME_TO_CLAIM),
        "all of them may still claim"
    );
    for queue in 1..=60 {
        assert!(channels.note_claim(queue));
    }
    let late = TIME_TO_CLAIM + MAX_CHANNELS as i64;
    for number in 0..4 {
        assert!(channels.listen(new + number, late), "the oldest gives way");
        assert!(!channels.note_claim(61 + number));
    }
    assert!(
        !channels.listen(new + 4, late),
        "the others are in use or new"
    );
    for queue in (1..=60).chain(new..new + 4) {
        assert!(channels.note_claim(queue), "{queue} is still listened to");
    }
    assert!(
        !channels.listen(new + 4, i64::MAX),
        "all of them are in use"
    );
}

#[test]
fn a_channel_that_is_replaced_while_armed_leaves_nothing_armed() {
    let mut channels = Channels::default();
    for queue in 1..=MAX_CHANNELS as u64 {
        assert!(channels.listen(queue, 0));
    }
    // A claim from all queues that finds nothing.
    while let Some(unread) = channels.arm(turnstile_scheduler::EVERY_QUEUE) {
        channels.store_setting(unread, true);
    }
    assert!(channels.is_any_armed());
    for queue in 101..=100 + MAX_CHANNELS as u64 {
        assert!(channels.listen(queue, TIME_TO_CLAIM));
    }
    assert!(!channels.is_any_armed());
}
