//! Random numbers and texts, the same in each run.

/// Splitmix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(limit).unwrap()).unwrap()
    }

    pub fn of(&mut self, parts: &[&str], most: usize) -> String {
        let count = self.below(most + 1);
        (0..count).map(|_| self.part(parts)).collect()
    }

    /// One of these, or any character.
    fn part(&mut self, parts: &[&str]) -> String {
        if self.below(8) > 0 {
            return parts[self.below(parts.len())].to_owned();
        }
        loop {
            let limit = [0x80, 0x3000, 0x11_0000][self.below(3)];
            let code = u32::try_from(self.below(limit)).unwrap();
            if let Some(letter) = char::from_u32(code) {
                return letter.to_string();
            }
        }
    }
}
