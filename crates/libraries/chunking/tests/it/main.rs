//! Tests of the policies through the public API: chunk sizes, and that every task is dealt once.

mod laws;
mod peers;
mod published;
