//! Runs every target on its seeds, on prefixes of each, and on a fixed number of mutations.
//!
//! A failure prints the number of the mutation; the input is then in a file, ready to become a seed.
#![expect(clippy::panic, reason = "a helper of tests fails by panicking")]

use fuzz::{FuzzTarget, Mutations, TARGETS};
use std::path::{Path, PathBuf};

/// Number of mutations tried for each target: some seconds in all.
const N_MUTATIONS: usize = 500;
/// Number of prefixes tried for each seed: all of a short one.
const N_BEGINNINGS: usize = 200;

#[test]
fn every_target_stands_its_seeds_and_what_becomes_of_them() {
    for target in TARGETS {
        check(target);
    }
}

#[test]
fn every_folder_of_seeds_has_a_target() {
    for entry in std::fs::read_dir(folder()).expect("the folder of seeds").flatten() {
        let name = entry.file_name();
        let name = name.to_str().expect("a name in letters");
        assert!(fuzz::target(name).is_some(), "`seeds/{name}` belongs to no target");
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds")
}

fn seeds(target: &FuzzTarget) -> Vec<Vec<u8>> {
    let folder = folder().join(target.name);
    assert!(folder.is_dir(), "target `{}` has no `{}`", target.name, folder.display());
    let entries = std::fs::read_dir(&folder).expect("the folder of its seeds");
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let seeds: Vec<_> = paths.iter().map(|path| std::fs::read(path).expect("a seed")).collect();
    assert!(!seeds.is_empty(), "target `{}` has no seed", target.name);
    seeds
}

#[track_caller]
fn check(target: &FuzzTarget) {
    let seeds = seeds(target);
    for seed in &seeds {
        run(target, seed, "a seed");
        let step = (seed.len() / N_BEGINNINGS).max(1);
        for end in (0..seed.len()).step_by(step) {
            run(target, &seed[..end], &format!("a seed cut after {end} bytes"));
        }
    }
    for (i, input) in Mutations::new(&seeds, target.bytes_max, 1).take(N_MUTATIONS).enumerate() {
        run(target, &input, &format!("mutation {i}"));
    }
}

/// Runs the target, and keeps the input if it fails.
#[track_caller]
fn run(target: &FuzzTarget, input: &[u8], what: &str) {
    if std::panic::catch_unwind(|| (target.run)(input)).is_ok() {
        return;
    }
    let path = std::env::temp_dir().join(format!("fuzz-{}-{}", target.name, std::process::id()));
    std::fs::write(&path, input).expect("a place for the input");
    panic!("target `{}` fails at {what}: `{}`", target.name, path.display());
}
