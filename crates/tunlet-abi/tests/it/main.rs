//! Tunlets in shared libraries, from outside.

mod foreign;
mod header;
mod library;
mod loaded;
mod news;
