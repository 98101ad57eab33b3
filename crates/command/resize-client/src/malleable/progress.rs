//! Progress of a program that is started again: its checkpoint, and the marker that it removes when it is done.

use resize_api::{CheckpointIndex, HEAD_BYTES, UNFINISHED, index_place};
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Longest index that is read; that of a program with 10,000 objects has 2 MB.
const INDEX_BYTES_MAX: u64 = 1 << 26;

/// Checkpoint of a program, and its marker.
#[derive(Debug)]
pub(super) struct Progress {
    pub(super) checkpoint: PathBuf,
}

impl Progress {
    /// Finds the checkpoint in the options of the program: its words, or those of the variable that it reads first.
    pub(super) fn of(command: &[OsString], variable: &str) -> Option<Self> {
        let of_command = command.iter().filter_map(|word| word.to_str());
        let words: Vec<_> = variable.split_whitespace().chain(of_command).collect();
        let named = words.iter().enumerate().rev().find_map(|(at, word)| match *word {
            "--checkpoint" => words.get(at + 1).copied(),
            word => word.strip_prefix("--checkpoint="),
        });
        Some(Self { checkpoint: named?.into() })
    }

    /// Begins: the program is not done.
    pub(super) fn mark(&self) -> std::io::Result<()> {
        File::create(self.marker()).map(drop)
    }

    /// Returns whether the program has said that it is done.
    pub(super) fn is_done(&self) -> bool {
        !self.marker().exists()
    }

    /// Removes the marker.
    pub(super) fn unmark(&self) {
        std::fs::remove_file(self.marker()).ok();
    }

    /// Number of the next iteration in the newest checkpoint; `None` if there is none that can be read.
    pub(super) fn iteration(&self) -> Option<u64> {
        iteration_in(&self.checkpoint)
    }

    fn marker(&self) -> PathBuf {
        self.checkpoint.with_added_extension(UNFINISHED)
    }
}

fn iteration_in(path: &Path) -> Option<u64> {
    let mut file = File::open(path).ok()?;
    let mut head = [0; HEAD_BYTES];
    file.read_exact(&mut head).ok()?;
    let (at, n_bytes) = index_place(&head).filter(|(_, n_bytes)| *n_bytes < INDEX_BYTES_MAX)?;
    let mut text = vec![0; usize::try_from(n_bytes).ok()?];
    file.read_exact_at(&mut text, at).ok()?;
    serde_json::from_slice(&text).ok().map(|CheckpointIndex { iteration }| iteration)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &str, variable: &str, expected: Option<&str>) {
        let words: Vec<_> = command.split_whitespace().map(OsString::from).collect();
        let found = Progress::of(&words, variable).map(|progress| progress.checkpoint);
        assert_eq!(found, expected.map(PathBuf::from), "{command}");
    }

    #[test]
    fn the_checkpoint_is_found_in_the_options_of_the_program() {
        check("mpiexec -n 2 ./cg --checkpoint a --sizes 1:2", "", Some("a"));
        check("mpiexec -n 2 ./cg --checkpoint=a", "--checkpoint b", Some("a"));
        check("mpiexec -n 2 ./cg", "--checkpoint b", Some("b"));
        check("mpiexec -n 2 ./cg --checkpoint-every 5s --checkpoint", "", None);
    }

    #[test]
    fn the_iteration_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let progress = Progress { checkpoint: folder.path().join("a") };
        assert_eq!(progress.iteration(), None);
        let index = br#"{"program":"rod","iteration":1234,"groups":[]}"#;
        let words = [1, 5, 3, index.len() as u64, 9].map(u64::to_le_bytes);
        let bytes = [&b"SINTOCKP"[..], words.as_flattened(), b"abc", index].concat();
        std::fs::write(&progress.checkpoint, bytes).expect("a file");
        assert_eq!(progress.iteration(), Some(1234));
        std::fs::write(&progress.checkpoint, b"SINTOCKP").expect("a file");
        assert_eq!(progress.iteration(), None);
    }
}
