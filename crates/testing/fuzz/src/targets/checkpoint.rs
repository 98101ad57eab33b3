//! Target: the two files of a malleable program's checkpoint, as a fault or another version may have left them.

use malleable::reading::{are_checkpoint, is_checkpoint_index};

/// Bytes of variable and of constant data in the seed's index.
const BYTES: [u64; 2] = [104, 112];

/// Splits the bytes into two files, as a seed has them (length of the first file, first file, second file), and reads
/// these; also reads all bytes as an index, which a checksum would otherwise keep from being reached.
pub(crate) fn run(bytes: &[u8]) {
    if let Some((length, files)) = bytes.split_first_chunk() {
        let n_bytes = usize::from(u16::from_le_bytes(*length)).min(files.len());
        let (variable, constants) = files.split_at(n_bytes);
        let _is_whole = are_checkpoint(variable, constants);
    }
    let _is_index = is_checkpoint_index(bytes, BYTES);
}
