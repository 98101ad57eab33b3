//! Bytes on disk in blocks that reading can find again behind a damaged spot.
//!
//! A block is a head of 24 bytes and a payload. The head: four bytes that mark a block, the payload's length, the
//! block's sequence number in eight bytes, the payload's CRC-32, and the CRC-32 of the head before it; all
//! little-endian. Both checksums begin with a *seed*, so that blocks of other files are none of this one.
//!
//! Reading passes over what is no block, byte by byte, until the next good head. A block whose head is good and whose
//! payload is not is passed over as a whole.
//!
//! # Invariants
//! - What is read was written, in the order in which it was written.
//! - Of a file, whatever happened to its bytes, each block is read that is whole and lies outside the damage.
//! - A copy of older blocks, such as in what a task wrote, is not read: sequence numbers only grow.
//! - Reading takes time in proportion to the bytes: a payload is looked at when its head is good, and once.

/// What marks a block of a file, and how long its payload may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    pub(crate) magic: [u8; 4],
    pub(crate) payload_bytes_max: usize,
}

/// Bytes before a payload.
pub(crate) const HEAD_BYTES: usize = 24;

/// What reading comes upon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found<'a> {
    /// A block that is whole.
    Block { sequence: u64, payload: &'a [u8] },
    /// Bytes that are no block, or blocks that are missing.
    Hole(Hole),
    /// Bytes behind the last block.
    Tail { at: usize },
}

/// What is missing between two blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hole {
    /// Bytes that are no block.
    pub(crate) n_bytes: u64,
    /// Sequence numbers that are missing.
    pub(crate) n_blocks: u64,
}

/// The blocks of a file, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Blocks<'a> {
    kind: Kind,
    seed: u32,
    bytes: &'a [u8],
    at: usize,
    /// The sequence number that comes next; any where it is not known.
    next: Option<u64>,
    /// A block behind a hole, told next.
    pending: Option<Numbered<'a>>,
}

/// A sequence number and a payload.
type Numbered<'a> = (u64, &'a [u8]);

struct Head {
    sequence: u64,
    n_bytes: usize,
    payload_crc: u32,
}

/// Makes room for a head; [`seal`] fills it in when the payload is there.
pub(crate) fn open(to: &mut Vec<u8>) -> usize {
    to.extend_from_slice(&[0; HEAD_BYTES]);
    to.len() - HEAD_BYTES
}

/// Writes the head of the block that begins at `begin` and ends with the bytes.
pub(crate) fn seal(kind: Kind, seed: u32, sequence: u64, begin: usize, to: &mut [u8]) {
    let (head, payload) = to[begin..].split_at_mut(HEAD_BYTES);
    let n_bytes = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    head[..4].copy_from_slice(&kind.magic);
    head[4..8].copy_from_slice(&n_bytes.to_le_bytes());
    head[8..16].copy_from_slice(&sequence.to_le_bytes());
    head[16..20].copy_from_slice(&crc(seed, payload).to_le_bytes());
    let head_crc = crc(seed, &head[..20]);
    head[20..].copy_from_slice(&head_crc.to_le_bytes());
}

/// A seed for files that belong to this name.
pub(crate) fn seed_of(name: &str) -> u32 {
    crc32fast::hash(name.as_bytes())
}

fn crc(seed: u32, bytes: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new_with_initial(seed);
    crc.update(bytes);
    crc.finalize()
}

impl<'a> Blocks<'a> {
    /// Those of these bytes; the first has the number `next`, if that is known.
    pub(crate) fn new(kind: Kind, seed: u32, bytes: &'a [u8], next: Option<u64>) -> Self {
        Self { kind, seed, bytes, at: 0, next, pending: None }
    }

    /// Bytes that were read.
    pub(crate) fn n_read(&self) -> usize {
        self.at
    }

    fn head(&self, at: usize) -> Option<Head> {
        let head = self.bytes.get(at..)?.first_chunk::<HEAD_BYTES>()?;
        if head[..4] != self.kind.magic {
            return None;
        }
        let word = |at: usize| Some(u32::from_le_bytes(*head[at..].first_chunk()?));
        if crc(self.seed, &head[..20]) != word(20)? {
            return None;
        }
        let n_bytes = usize::try_from(word(4)?).ok()?;
        let sequence = u64::from_le_bytes(*head[8..].first_chunk()?);
        let is_next = self.next.is_none_or(|next| next <= sequence);
        let fits = n_bytes <= self.kind.payload_bytes_max;
        (is_next && fits).then_some(Head { sequence, n_bytes, payload_crc: word(16)? })
    }

    /// The block that begins there, and where it ends. `None` in it: its payload is not what was written.
    fn block(&self, at: usize) -> Option<(Option<Numbered<'a>>, usize)> {
        let head = self.head(at)?;
        let begin = at + HEAD_BYTES;
        let payload = self.bytes.get(begin..begin + head.n_bytes)?;
        let is_whole = crc(self.seed, payload) == head.payload_crc;
        Some((is_whole.then_some((head.sequence, payload)), begin + head.n_bytes))
    }

    /// Where the next block may begin.
    fn next_magic(&self, from: usize) -> Option<usize> {
        let magic = self.kind.magic;
        let rest = self.bytes.get(from..)?;
        rest.windows(magic.len()).position(|bytes| bytes == magic).map(|at| from + at)
    }
}

impl<'a> Iterator for Blocks<'a> {
    type Item = Found<'a>;

    fn next(&mut self) -> Option<Found<'a>> {
        if let Some((sequence, payload)) = self.pending.take() {
            return Some(Found::Block { sequence, payload });
        }
        let begin = self.at;
        let mut at = begin;
        while let Some(candidate) = self.next_magic(at) {
            match self.block(candidate) {
                Some((Some((sequence, payload)), end)) => {
                    let n_blocks = self.next.map_or(0, |next| sequence - next);
                    let hole = Hole { n_bytes: (candidate - begin) as u64, n_blocks };
                    (self.at, self.next) = (end, sequence.checked_add(1));
                    if hole == Hole::default() {
                        return Some(Found::Block { sequence, payload });
                    }
                    self.pending = Some((sequence, payload));
                    return Some(Found::Hole(hole));
                }
                Some((None, end)) => at = end,
                None => at = candidate + 1,
            }
        }
        self.at = self.bytes.len();
        (begin < self.bytes.len()).then_some(Found::Tail { at: begin })
    }
}

#[cfg(test)]
mod tests;
