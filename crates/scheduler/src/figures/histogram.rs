//! How long jobs wait or run: how many of them took how long.

/// The upper bounds of the buckets, in milliseconds; the last bucket has none.
pub const BOUNDS: [u64; 28] = [
    1,
    2,
    5,
    10,
    20,
    50,
    100,
    200,
    500,
    1_000,
    2_000,
    5_000,
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    500_000_000,
    1_000_000_000,
];
pub const BUCKETS: usize = BOUNDS.len() + 1;
/// Microseconds.
const MS: u64 = 1_000;

/// All zero: nothing was measured.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Histogram {
    pub buckets: [u64; BUCKETS],
    /// In microseconds.
    pub sum: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            buckets: [0; BUCKETS],
            sum: 0,
        }
    }
}

impl Histogram {
    /// Something took so many microseconds.
    pub fn note(&mut self, time: i64) {
        let time = u64::try_from(time).unwrap_or(0);
        let bucket = BOUNDS.partition_point(|&bound| bound * MS < time);
        if let Some(count) = self.buckets.get_mut(bucket) {
            *count += 1;
        }
        self.sum = self.sum.saturating_add(time);
    }

    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// The time in milliseconds within which this share of all were done, as if those of a bucket were spread evenly over it.
    /// Nothing if there were none.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let wanted = self.count() as f64 * share;
        let mut below = 0.0;
        let mut from = 0;
        for (&count, &bound) in self.buckets.iter().zip(&BOUNDS) {
            let (count, width) = (count as f64, (bound - from) as f64);
            if count > 0.0 && below + count >= wanted {
                return Some(from as f64 + width * (wanted - below) / count);
            }
            below += count;
            from = bound;
        }
        // In the last bucket, of which only the lower bound is known.
        (self.count() > 0).then_some(from as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_their_bucket() {
        let mut times = Histogram::default();
        assert_eq!(times.quantile(0.5), None);
        for ms in 1..=1_000 {
            times.note(ms * 1_000);
        }
        assert_eq!(times.count(), 1_000);
        assert_eq!(times.sum, 500_500_000);
        for (share, exact) in [(0.5, 500.0), (0.95, 950.0), (0.99, 990.0)] {
            let found = times.quantile(share).unwrap();
            assert!((found - exact).abs() <= 1.0, "{found} instead of {exact}");
        }
    }

    #[test]
    fn a_bound_belongs_to_its_bucket() {
        let mut times = Histogram::default();
        for time in [-5, 0, 1_000, 1_001, 2_000, i64::MAX] {
            times.note(time);
        }
        assert_eq!(times.buckets[..3], [3, 2, 0]);
        assert_eq!(times.buckets[BUCKETS - 1], 1);
        assert_eq!(times.quantile(1.0), Some(1e9));
    }
}
