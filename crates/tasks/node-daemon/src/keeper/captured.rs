//! Captured output of a task, of which the beginning and the end are kept.

use std::collections::VecDeque;

use task_api::Text;

/// Keeps the first and the last half of `bytes_max`: programs print what they are at the beginning, and errors at
/// the end.
#[derive(Debug)]
pub(super) struct Capture {
    bytes_max: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    n_dropped: u64,
}

impl Capture {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { bytes_max, head: Vec::new(), tail: VecDeque::new(), n_dropped: 0 }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        let head_room = (self.bytes_max - self.bytes_max / 2).saturating_sub(self.head.len());
        let (first, rest) = bytes.split_at(head_room.min(bytes.len()));
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        let excess = self.tail.len().saturating_sub(self.bytes_max / 2);
        self.tail.drain(..excess);
        self.n_dropped += u64::try_from(excess).unwrap_or(u64::MAX);
    }

    /// Returns the kept bytes and the number of dropped ones; a line between the halves tells of those.
    pub(super) fn finish(self) -> (Text, u64) {
        let mut bytes = self.head;
        if 0 < self.n_dropped && 0 < self.bytes_max {
            let line = format!("\n[sintonia: {} bytes were not kept]\n", self.n_dropped);
            bytes.extend_from_slice(line.as_bytes());
        }
        bytes.extend(self.tail);
        (Text(bytes), self.n_dropped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes_max: usize, pieces: &[&str], kept: &str, n_dropped: u64) {
        let mut capture = Capture::new(bytes_max);
        pieces.iter().for_each(|piece| capture.push(piece.as_bytes()));
        assert_eq!(capture.finish(), (Text(kept.as_bytes().to_vec()), n_dropped), "{pieces:?}");
    }

    #[test]
    fn the_beginning_and_the_end_are_kept() {
        check(8, &[], "", 0);
        check(8, &["abc"], "abc", 0);
        check(8, &["abcdefgh"], "abcdefgh", 0);
        check(8, &["abcdefghi"], "abcd\n[sintonia: 1 bytes were not kept]\nfghi", 1);
        check(8, &["ab", "cdef", "ghijkl"], "abcd\n[sintonia: 4 bytes were not kept]\nijkl", 4);
        check(3, &["abcdef"], "ab\n[sintonia: 3 bytes were not kept]\nf", 3);
        check(0, &["abc"], "", 3);
    }
}
