//! A panic in the middle of a step, on demand: for test builds of the extension only.

use std::cell::Cell;

thread_local! {
    static TOUCHES_LEFT: Cell<u32> = const { Cell::new(0) };
}

/// The `touches`-th slot that is about to change from now on panics instead; 0 disarms.
pub fn arm(touches: u32) {
    TOUCHES_LEFT.set(touches);
}

/// How many more it takes.
pub fn touches_left() -> u32 {
    TOUCHES_LEFT.get()
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
