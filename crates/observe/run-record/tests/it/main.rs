//! Tests of the record through its public interface.

#[cfg(test)]
mod damage;
#[cfg(test)]
mod event_file;
#[cfg(test)]
mod folder;
#[cfg(test)]
mod function_file;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod spool;
