//! The targets, one file each.

pub(crate) mod application;
pub(crate) mod journal;
pub(crate) mod keeper_ends;
pub(crate) mod wire;
