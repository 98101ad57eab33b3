//! Tunlets in shared libraries, from outside.

mod examples;
mod foreign;
mod header;
mod library;
mod loaded;
mod news;
