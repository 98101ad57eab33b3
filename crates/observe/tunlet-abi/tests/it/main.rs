//! Tests of tunlets in shared libraries, through the public API.

mod examples;
mod foreign;
mod header;
mod library;
mod loaded;
mod news;
