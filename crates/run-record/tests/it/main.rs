//! The record from outside.

#[cfg(test)]
mod event_file;
#[cfg(test)]
mod folder;
#[cfg(test)]
mod function_file;
#[cfg(test)]
mod spool;
