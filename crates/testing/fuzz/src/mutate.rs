//! Mutations of inputs that are the same each time, without clock and chance, so that a failure can be repeated.

/// Endless sequence of inputs made from seeds.
#[derive(Debug)]
pub struct Mutations<'a> {
    seeds: &'a [Vec<u8>],
    bytes_max: usize,
    state: u64,
}

/// Values at which counts and lengths tend to go wrong.
const BOUNDARY_VALUES: [u64; 8] = [0, 1, 0x7f, 0x80, 0xff, 0x7fff_ffff, 0xffff_ffff, u64::MAX];

impl<'a> Mutations<'a> {
    /// Makes mutations of `seeds`, none longer than `bytes_max`; another `number` gives other mutations.
    #[must_use]
    pub fn new(seeds: &'a [Vec<u8>], bytes_max: usize, number: u64) -> Self {
        Self { seeds, bytes_max, state: number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 }
    }

    /// Next number of the sequence (xorshift64*).
    fn random(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Number below `n`; 0 if `n` is 0.
    fn below(&mut self, n: usize) -> usize {
        let n = u64::try_from(n).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.random() % n).unwrap_or(0)
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let at = self.below(input.len());
        match self.below(8) {
            0 => input.truncate(at),
            1 | 2 => self.flip_bit(input, at),
            3 => self.overwrite(input, at),
            4 => self.insert_part(input, at),
            5 => self.remove_part(input, at),
            6 => self.splice(input, at),
            _ => self.replace_digit(input, at),
        }
    }

    fn flip_bit(&mut self, input: &mut [u8], at: usize) {
        let bit = self.below(8);
        if let Some(byte) = input.get_mut(at) {
            *byte ^= 1 << bit;
        }
    }

    fn overwrite(&mut self, input: &mut [u8], at: usize) {
        let value = BOUNDARY_VALUES[self.below(BOUNDARY_VALUES.len())].to_le_bytes();
        let n = 1 << self.below(4);
        for (byte, value) in input.iter_mut().skip(at).zip(&value[..n]) {
            *byte = *value;
        }
    }

    /// Repeats a part of the input, which makes nested parts deeper.
    fn insert_part(&mut self, input: &mut Vec<u8>, at: usize) {
        let end = (at + 1 + self.below(32)).min(input.len());
        let part = input.get(at..end).unwrap_or_default().to_vec();
        let n = 1 + self.below(8);
        let to = self.below(input.len() + 1);
        input.splice(to..to, part.repeat(n));
    }

    fn remove_part(&mut self, input: &mut Vec<u8>, at: usize) {
        let end = (at + 1 + self.below(16)).min(input.len());
        input.drain(at.min(end)..end);
    }

    /// Replaces the rest of the input by that of another seed.
    fn splice(&mut self, input: &mut Vec<u8>, at: usize) {
        let other = &self.seeds[self.below(self.seeds.len())];
        input.truncate(at);
        input.extend(other.iter().skip(at));
    }

    /// Replaces a number in text by another one: longer, negative, none.
    fn replace_digit(&mut self, input: &mut Vec<u8>, at: usize) {
        let Some(digit) = (at..input.len()).find(|at| input[*at].is_ascii_digit()) else { return };
        let words: [&[u8]; 6] = [b"", b"-1", b"0", b"18446744073709551616", b"1e999", b"nan"];
        let word = words[self.below(words.len())];
        input.splice(digit..=digit, word.iter().copied());
    }
}

impl Iterator for Mutations<'_> {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let mut input = self.seeds.get(self.below(self.seeds.len()))?.clone();
        for _ in 0..=self.below(4) {
            self.change(&mut input);
        }
        input.truncate(self.bytes_max);
        Some(input)
    }
}
