//! The targets, one file each.

pub(crate) mod application;
mod folder;
pub(crate) mod checkpoint;
pub(crate) mod control;
pub(crate) mod handshake;
pub(crate) mod hosts;
pub(crate) mod http;
pub(crate) mod journal;
pub(crate) mod keeper_ends;
pub(crate) mod links;
pub(crate) mod master_worker_checkpoint;
pub(crate) mod record;
pub(crate) mod segment;
pub(crate) mod spool;
pub(crate) mod wire;
