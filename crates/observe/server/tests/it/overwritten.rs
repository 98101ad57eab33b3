//! Programs that overwrite the memory in which they are observed: the run ends, and all ranks are in its record.

use crate::stage::{Actor, Rank, Stage, eventually};
use ring::layout::{BLOCKS_OFFSET, COMMUNICATORS_OFFSET, CONTROL_OFFSET, MODULES_OFFSET};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// Ranges of the segment in which each rank overwrites two bytes; ranges with decisive numbers come first.
const PARTS: [(usize, usize); 12] = [
    // Process id and start time, by which it was identified.
    (12, 4),
    (16, 8),
    (24, 16),
    (44, 20),
    (64, 56),
    (120, 40),
    (160, 3000),
    (MODULES_OFFSET, 1000),
    (COMMUNICATORS_OFFSET, 64),
    (CONTROL_OFFSET, 192),
    // The header of a thread, then its counters.
    (BLOCKS_OFFSET, 132),
    (BLOCKS_OFFSET + 192, 1000),
];

/// Returns the next number of a reproducible sequence (xorshift64*).
fn random(state: &mut u64) -> u64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
}

fn segment_of(stage: &Stage, pid: u32) -> PathBuf {
    let nodes = std::fs::read_dir(stage.run_dir()).expect("a node").flatten();
    let files =
        nodes.flat_map(|node| std::fs::read_dir(node.path()).into_iter().flatten()).flatten();
    let is_its = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&format!("{pid}-")))
    };
    files.map(|file| file.path()).find(is_its).expect("its segment")
}

fn overwrite(stage: &Stage, rank: &Actor, (start, len): (usize, usize), state: &mut u64) {
    let file = File::options().write(true).open(segment_of(stage, rank.pid())).expect("a segment");
    let at = start as u64 + random(state) % (len as u64 - 1);
    let [low, high, ..] = random(state).to_le_bytes();
    file.write_all_at(&[low | 1, high | 1], at).expect("inside");
}

/// Runs ranks that each overwrite one range; the same seed gives the same bytes.
#[track_caller]
fn check(seed: u64) {
    let mut state = seed;
    let (stage, server) = Stage::new();
    let collector = stage.collector();
    let start = |rank| stage.rank(Rank { rank, n_records: 100, ending: "wait" });
    let mut ranks: Vec<Actor> = (0..).take(PARTS.len()).map(start).collect();
    let are_there = || {
        let processes = server.processes();
        let is_there = |report: &wire::ProcessReport| {
            report.threads.first().is_some_and(|thread| thread.in_call.is_some())
        };
        processes.len() == PARTS.len() && processes.iter().all(is_there)
    };
    assert!(eventually(are_there));
    for (rank, part) in ranks.iter().zip(PARTS) {
        overwrite(&stage, rank, part, &mut state);
    }
    ranks.iter_mut().for_each(Actor::kill);
    let measured = stage.end(server, collector);
    let mut found: Vec<u32> = measured.processes.iter().map(|report| report.key.pid).collect();
    let mut expected: Vec<u32> = ranks.iter().map(Actor::pid).collect();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected, "seed {seed}");
    assert!(measured.processes.iter().all(|report| report.gone), "seed {seed}");
    let said = measured.warnings.iter().any(|warning| warning.contains("overwrote memory"));
    assert!(said, "seed {seed}: {:?}", measured.warnings);
    let facts = stage.facts();
    let summary = assemble::summarize(&measured, &facts, &mut symbols::Resolver::new());
    assert_eq!(summary.n_ranks, PARTS.len(), "seed {seed}");
}

/// An overwritten byte of a process's id or start time used to make the launcher wait forever for that process,
/// ignoring signals.
#[test]
fn a_segment_that_is_overwritten_anywhere_ends_with_its_run() {
    [1, 2, 3].into_iter().for_each(check);
}
