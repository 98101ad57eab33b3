//! Matrix Market files: sparse matrices as text, one line per entry (Boisvert, Pozo and Remington 1996).
//!
//! All ranks read: each a part of the file's bytes, from line to line, whose entries are sent to the ranks that hold
//! their rows. A compressed file cannot be split; the first rank decompresses it once and distributes pieces of lines,
//! since the other ranks would only repeat its work, perhaps on the same cores. Either way a rank holds only a few
//! pieces of text at a time.
//!
//! # Not here
//! Vectors: `vector.rs`.

mod entry;
mod error;
mod header;
mod read;
mod rows;
mod text;
mod write;

pub use error::MarketError;
pub use read::read;
pub use write::write;
