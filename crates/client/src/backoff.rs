//! Pauses between attempts that fail: each about twice as long as the one before, and never the same for all workers.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);

#[derive(Default)]
pub(crate) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// Between half of the pause and all of it, so that workers who lost one server do not come back at once.
    pub(crate) fn next_pause(&mut self) -> Duration {
        let whole = pause_after(self.failures);
        self.failures = self.failures.saturating_add(1);
        whole.mul_f64(0.5 + fastrand::f64() / 2.0)
    }

    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }
}

fn pause_after(failures: u32) -> Duration {
    FIRST
        .saturating_mul(2_u32.saturating_pow(failures))
        .min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        assert_eq!(pause_after(0), FIRST);
        assert_eq!(pause_after(3), FIRST * 8);
        assert_eq!(pause_after(u32::MAX), LONGEST);
    }

    #[test]
    fn a_pause_is_at_least_half_of_what_it_may_be() {
        let mut backoff = Backoff::default();
        for failures in 0..200 {
            let pause = backoff.next_pause();
            assert!(pause >= pause_after(failures) / 2 && pause <= pause_after(failures));
        }
        backoff.reset();
        assert!(backoff.next_pause() <= FIRST);
    }
}
