//! Fuzz targets: the readers of bytes that strangers, faults and other versions send, each as a function of bytes.
//!
//! A *target* takes any bytes and must return: no panic, no endless loop, no memory beyond its bound. If there is a law
//! (what was written reads back the same), it panics when the law is broken. Each target has a folder `seeds/NAME` with
//! at least one valid input, from which both runs start:
//!
//! - `tests/it` runs every target on its seeds and on a fixed number of their mutations, the same each time;
//! - `make fuzz` searches with libFuzzer, guided by coverage. An input that it finds becomes a seed.
//!
//! A new target is one file in `targets/`, one line in [`TARGETS`], and a folder of seeds.

mod mutate;
mod targets;

pub use mutate::Mutations;

/// Reader that is tried with any bytes.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Name of the target, and of its folder of seeds.
    pub name: &'static str,
    /// Reads the bytes; panics if a promise is broken.
    pub run: fn(&[u8]),
    /// Length of the longest input worth trying, in bytes.
    pub bytes_max: usize,
}

/// All targets, by name.
pub const TARGETS: &[Target] = &[
    Target { name: "application", run: targets::application::run, bytes_max: 4096 },
    Target { name: "c-source", run: targets::c_source::run, bytes_max: 4096 },
    Target { name: "checkpoint", run: targets::checkpoint::run, bytes_max: 4096 },
    Target { name: "control", run: targets::control::run, bytes_max: 4096 },
    Target { name: "extrap-text", run: targets::extrap_text::run, bytes_max: 2048 },
    Target { name: "frame", run: targets::frame::run, bytes_max: 2048 },
    Target { name: "handshake", run: targets::handshake::run, bytes_max: 512 },
    Target { name: "hosts", run: targets::hosts::run, bytes_max: 256 },
    Target { name: "http", run: targets::http::run, bytes_max: 9000 },
    Target { name: "journal", run: targets::journal::run, bytes_max: 4096 },
    Target { name: "keeper-ends", run: targets::keeper_ends::run, bytes_max: 4096 },
    Target { name: "links", run: targets::links::run, bytes_max: 2048 },
    Target { name: "mailbox", run: targets::mailbox::run, bytes_max: 1024 },
    Target {
        name: "master-worker-checkpoint",
        run: targets::master_worker_checkpoint::run,
        bytes_max: 1024,
    },
    Target { name: "measurements", run: targets::measurements::run, bytes_max: 2048 },
    Target { name: "models", run: targets::models::run, bytes_max: 16_384 },
    Target { name: "plan", run: targets::plan::run, bytes_max: 4096 },
    Target { name: "record", run: targets::record::run, bytes_max: 16384 },
    Target { name: "scenario", run: targets::scenario::run, bytes_max: 1024 },
    Target { name: "segment", run: targets::segment::run, bytes_max: 4096 },
    Target { name: "spool", run: targets::spool::run, bytes_max: 16384 },
    Target { name: "structs", run: targets::structs::run, bytes_max: 4096 },
    Target { name: "symbols", run: targets::symbols::run, bytes_max: 16 << 10 },
    Target { name: "wire", run: targets::wire::run, bytes_max: 4096 },
];

/// Target of this name.
#[must_use]
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
