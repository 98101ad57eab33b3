//! Blocks of bytes on disk, which can be found again behind a damaged spot.
//!
//! A block is a head of 24 bytes and a payload. The head consists of four bytes that mark a block, the payload's
//! length, the block's sequence number in eight bytes, the payload's CRC-32, and the CRC-32 of the head before it;
//! all little-endian. Both checksums start from a *seed*, so that blocks of other files are not valid in this one.
//!
//! Reading skips what is no block, byte by byte, until the next good head. A block with a good head and a bad
//! payload is skipped as a whole.
//!
//! # Invariants
//! - Only what was written is read, in the order in which it was written.
//! - Whatever happens to the bytes of a file, each block outside the damage is read.
//! - A copy of older blocks, such as in the output of a task, is not read: sequence numbers only grow.
//! - Reading takes time in proportion to the bytes: a payload is read only behind a good head, and once.

/// Kind of file: the mark of its blocks, and the longest payload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockFileKind {
    pub(crate) magic: [u8; 4],
    pub(crate) payload_bytes_max: usize,
}

/// Bytes before a payload.
pub(crate) const HEAD_BYTES: usize = 24;

/// Item that reading a file finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BlockItem<'a> {
    /// A whole block.
    Block { sequence: u64, payload: &'a [u8] },
    /// Bytes that are no block, or blocks that are missing.
    Hole(Hole),
    /// Bytes behind the last block.
    Tail { at: usize },
}

/// Gap between two blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hole {
    /// Number of bytes that are no block.
    pub(crate) n_bytes: u64,
    /// Number of missing sequence numbers.
    pub(crate) n_blocks: u64,
}

/// Iterator over the blocks of a file.
#[derive(Clone, Debug)]
pub(crate) struct Blocks<'a> {
    kind: BlockFileKind,
    seed: u32,
    bytes: &'a [u8],
    at: usize,
    /// Expected sequence number of the next block; `None` accepts any.
    next: Option<u64>,
    /// Block behind a hole, returned next.
    pending: Option<Numbered<'a>>,
}

/// Sequence number and payload of a block.
type Numbered<'a> = (u64, &'a [u8]);

struct Head {
    sequence: u64,
    n_bytes: usize,
    payload_crc: u32,
}

/// Appends an empty head, which [`seal`] fills in when the payload follows it; returns the head's position.
pub(crate) fn open(to: &mut Vec<u8>) -> usize {
    to.extend_from_slice(&[0; HEAD_BYTES]);
    to.len() - HEAD_BYTES
}

/// Fills in the head of the block that begins at `begin` and ends with `to`.
pub(crate) fn seal(kind: BlockFileKind, seed: u32, sequence: u64, begin: usize, to: &mut [u8]) {
    let (head, payload) = to[begin..].split_at_mut(HEAD_BYTES);
    let n_bytes = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    head[..4].copy_from_slice(&kind.magic);
    head[4..8].copy_from_slice(&n_bytes.to_le_bytes());
    head[8..16].copy_from_slice(&sequence.to_le_bytes());
    head[16..20].copy_from_slice(&crc(seed, payload).to_le_bytes());
    let head_crc = crc(seed, &head[..20]);
    head[20..].copy_from_slice(&head_crc.to_le_bytes());
}

/// Seed for the files that belong to this name.
pub(crate) fn seed_of(name: &str) -> u32 {
    crc32fast::hash(name.as_bytes())
}

fn crc(seed: u32, bytes: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new_with_initial(seed);
    crc.update(bytes);
    crc.finalize()
}

impl<'a> Blocks<'a> {
    /// Blocks in `bytes`; `next` is the sequence number of the first, if known.
    pub(crate) fn new(kind: BlockFileKind, seed: u32, bytes: &'a [u8], next: Option<u64>) -> Self {
        Self { kind, seed, bytes, at: 0, next, pending: None }
    }

    /// Number of bytes that were read.
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

    /// Block at `at`, and the position of its end. The inner `None` means that its payload is damaged.
    fn block(&self, at: usize) -> Option<(Option<Numbered<'a>>, usize)> {
        let head = self.head(at)?;
        let begin = at + HEAD_BYTES;
        let payload = self.bytes.get(begin..begin + head.n_bytes)?;
        let is_whole = crc(self.seed, payload) == head.payload_crc;
        Some((is_whole.then_some((head.sequence, payload)), begin + head.n_bytes))
    }

    /// Position at which the next block may begin.
    fn next_magic(&self, from: usize) -> Option<usize> {
        let magic = self.kind.magic;
        let rest = self.bytes.get(from..)?;
        rest.windows(magic.len()).position(|bytes| bytes == magic).map(|at| from + at)
    }
}

impl<'a> Iterator for Blocks<'a> {
    type Item = BlockItem<'a>;

    fn next(&mut self) -> Option<BlockItem<'a>> {
        if let Some((sequence, payload)) = self.pending.take() {
            return Some(BlockItem::Block { sequence, payload });
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
                        return Some(BlockItem::Block { sequence, payload });
                    }
                    self.pending = Some((sequence, payload));
                    return Some(BlockItem::Hole(hole));
                }
                Some((None, end)) => at = end,
                None => at = candidate + 1,
            }
        }
        self.at = self.bytes.len();
        (begin < self.bytes.len()).then_some(BlockItem::Tail { at: begin })
    }
}

#[cfg(test)]
mod tests;
