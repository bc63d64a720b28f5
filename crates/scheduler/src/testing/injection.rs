//! A panic in the middle of a step, on demand, and how many slots steps look at: for test builds only.

use std::cell::Cell;

thread_local! {
    static TOUCHES_LEFT: Cell<u32> = const { Cell::new(0) };
    static LOOKS: Cell<u64> = const { Cell::new(0) };
}

/// The `touches`-th slot that is about to change from now on panics instead; 0 disarms.
pub fn arm(touches: u32) {
    TOUCHES_LEFT.set(touches);
}

/// How many more it takes.
pub fn touches_left() -> u32 {
    TOUCHES_LEFT.get()
}

/// How many times the slots of lanes, nodes and gates were looked at.
pub fn looks() -> u64 {
    LOOKS.get()
}

pub(crate) fn look() {
    LOOKS.set(LOOKS.get() + 1);
}

#[allow(clippy::panic)]
pub(crate) fn touch() {
    match TOUCHES_LEFT.get() {
        0 => {}
        1 => {
            TOUCHES_LEFT.set(0);
            panic!("injected into a step of the scheduler");
        }
        left => TOUCHES_LEFT.set(left - 1),
    }
}
