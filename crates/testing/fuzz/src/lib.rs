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
pub struct FuzzTarget {
    /// Name of the target, and of its folder of seeds.
    pub name: &'static str,
    /// Reads the bytes; panics if a promise is broken.
    pub run: fn(&[u8]),
    /// Length of the longest input worth trying, in bytes.
    pub bytes_max: usize,
}

/// All targets, by name.
pub const TARGETS: &[FuzzTarget] = &[
    FuzzTarget { name: "application", run: targets::application::run, bytes_max: 4096 },
    FuzzTarget { name: "c-source", run: targets::c_source::run, bytes_max: 4096 },
    FuzzTarget { name: "checkpoint", run: targets::checkpoint::run, bytes_max: 4096 },
    FuzzTarget { name: "control", run: targets::control::run, bytes_max: 4096 },
    FuzzTarget { name: "extrap-text", run: targets::extrap_text::run, bytes_max: 2048 },
    FuzzTarget { name: "frame", run: targets::frame::run, bytes_max: 2048 },
    FuzzTarget { name: "handshake", run: targets::handshake::run, bytes_max: 512 },
    FuzzTarget { name: "hosts", run: targets::hosts::run, bytes_max: 256 },
    FuzzTarget { name: "http", run: targets::http::run, bytes_max: 9000 },
    FuzzTarget { name: "journal", run: targets::journal::run, bytes_max: 4096 },
    FuzzTarget { name: "keeper-ends", run: targets::keeper_ends::run, bytes_max: 4096 },
    FuzzTarget { name: "links", run: targets::links::run, bytes_max: 2048 },
    FuzzTarget { name: "mailbox", run: targets::mailbox::run, bytes_max: 1024 },
    FuzzTarget {
        name: "master-worker-checkpoint",
        run: targets::master_worker_checkpoint::run,
        bytes_max: 1024,
    },
    FuzzTarget { name: "measurements", run: targets::measurements::run, bytes_max: 2048 },
    FuzzTarget { name: "models", run: targets::models::run, bytes_max: 16_384 },
    FuzzTarget { name: "plan", run: targets::plan::run, bytes_max: 4096 },
    FuzzTarget { name: "record", run: targets::record::run, bytes_max: 16384 },
    FuzzTarget { name: "scenario", run: targets::scenario::run, bytes_max: 1024 },
    FuzzTarget { name: "segment", run: targets::segment::run, bytes_max: 4096 },
    FuzzTarget { name: "spool", run: targets::spool::run, bytes_max: 16384 },
    FuzzTarget { name: "structs", run: targets::structs::run, bytes_max: 4096 },
    FuzzTarget { name: "symbols", run: targets::symbols::run, bytes_max: 16 << 10 },
    FuzzTarget { name: "wire", run: targets::wire::run, bytes_max: 4096 },
];

/// Target of this name.
#[must_use]
pub fn target(name: &str) -> Option<&'static FuzzTarget> {
    TARGETS.iter().find(|target| target.name == name)
}
