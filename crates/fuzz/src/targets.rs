//! The targets, one file each.

pub(crate) mod application;
pub(crate) mod wire;
