//! Targets, one file each.

pub(crate) mod application;
pub(crate) mod c_source;
pub(crate) mod checkpoint;
pub(crate) mod control;
pub(crate) mod extrap_text;
mod folder;
pub(crate) mod frame;
pub(crate) mod handshake;
pub(crate) mod hosts;
pub(crate) mod http;
pub(crate) mod journal;
pub(crate) mod keeper_ends;
pub(crate) mod links;
pub(crate) mod mailbox;
pub(crate) mod master_worker_checkpoint;
pub(crate) mod measurements;
pub(crate) mod models;
pub(crate) mod plan;
pub(crate) mod record;
pub(crate) mod scenario;
pub(crate) mod segment;
pub(crate) mod spool;
pub(crate) mod structs;
pub(crate) mod symbols;
pub(crate) mod wire;
