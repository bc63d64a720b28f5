//! Numbers out of the fuzzer's bytes.

use turnstile_scheduler::{GateKind, LaneSpec};

pub struct Input<'a>(pub &'a [u8]);

impl Input<'_> {
    /// A byte; none is left at the end.
    pub fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// A byte, 0 at the end.
    pub fn byte(&mut self) -> u8 {
        self.next().unwrap_or(0)
    }

    pub fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end.max(1)
    }

    /// Mostly small, sometimes at the ends of what a number can be.
    pub fn number(&mut self) -> u64 {
        match self.byte() {
            255 => u64::MAX,
            254 => u64::from(u32::MAX),
            253 => i64::MAX.cast_unsigned(),
            252 => i64::MIN.cast_unsigned(),
            251 => u64::from(i32::MAX.cast_unsigned()),
            250 => u64::from(self.byte()) << 8 | u64::from(self.byte()),
            small => u64::from(small),
        }
    }

    pub fn position(&mut self) -> i64 {
        self.number().cast_signed()
    }

    /// A lane whose names are scoped as the server scopes them: an account belongs to its tenant, a session to
    /// its queue and tenant.
    pub fn spec(&mut self) -> LaneSpec {
        let (names, more) = (u64::from(self.byte()), u64::from(self.byte()));
        let queue = 1 + names % 2;
        let tenant = names / 2 % 3;
        let scoped = |name: u64, scope: u64| {
            if name == 0 {
                0
            } else {
                100 + 10 * scope + name
            }
        };
        let mut spec = LaneSpec {
            lane: 0,
            queue,
            tenant: scoped(tenant, 1),
            account: scoped(names / 6 % 3, 2 + tenant),
            session: scoped(names / 18 % 3, 10 + 4 * queue + tenant),
            concurrency: scoped(more % 3, 9),
            unique: scoped(more / 9 % 3, 30 + tenant),
            batch: scoped(more / 27 % 3, 40),
            priority: (more / 3 % 3) as i32 - 1,
        };
        let keys = GateKind::ALL.map(|kind| spec.key_of(kind)).into_iter();
        spec.lane = keys.fold(spec.priority.unsigned_abs().into(), |hash: u64, key| {
            (hash ^ key)
                .wrapping_mul(0x0000_0100_0000_01B3)
                .rotate_left(17)
        }) ^ u64::from(spec.priority.is_negative());
        spec
    }

    /// As [`Self::spec`], but names that the server would never put together.
    pub fn wild_spec(&mut self) -> LaneSpec {
        let mut spec = self.spec();
        let key = self.number();
        match self.below(GateKind::ALL.len() + 3) {
            0 => spec.lane = key,
            1 => spec.priority = key as i32,
            2 => {}
            which => *spec.key_mut(GateKind::ALL[which - 3]) = key,
        }
        spec
    }
}
