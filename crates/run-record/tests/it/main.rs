//! The record from outside.

#[cfg(test)]
mod event_file;
#[cfg(test)]
mod folder;
#[cfg(test)]
mod spool;
