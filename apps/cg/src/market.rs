//! Matrix Market files: sparse matrices as text, a line per entry (Boisvert, Pozo and Remington 1996).
//!
//! All ranks read: each a part of the file's bytes, from line to line, whose entries go to the ranks that hold their rows.
//! A compressed file has no parts; the first rank inflates it once and deals out pieces of lines, since the others would
//! only repeat its work on cores that may be the same. Either way a rank holds a few pieces of text at a time.
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
