//! The record from outside.

mod event_file;
mod folder;
mod spool;
