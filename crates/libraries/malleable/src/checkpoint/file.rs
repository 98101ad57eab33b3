//! Files of a checkpoint: their paths and names, and errors for unusable files.

use super::CheckpointError;
use super::format::{self, FileFault, FileHeader, HEADER_BYTES};
use super::index::Index;
use files::Draft;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Checkpoint file being written; after an error nothing more is written.
#[derive(Debug)]
pub(super) struct CheckpointDraft {
    path: PathBuf,
    draft: Draft,
    file: io::Result<File>,
}

impl CheckpointDraft {
    /// Creates the draft of the file `path`.
    pub(super) fn of(path: &Path) -> Self {
        let draft = Draft::of(path);
        Self { path: path.to_owned(), file: draft.create(0o666), draft }
    }

    /// Writes a part of the arrays.
    pub(super) fn write(&mut self, bytes: &[u8], at: u64) {
        if let Ok(file) = &self.file
            && let Err(error) = file.write_all_at(bytes, HEADER_BYTES + at)
        {
            self.file = Err(error);
        }
    }

    /// Reads back what was written.
    pub(super) fn read(&self, bytes: &mut [u8], at: u64) {
        if let Ok(file) = &self.file {
            // A failed read shows when the file is finished, which reads all of it.
            let _read = file.read_exact_at(bytes, HEADER_BYTES + at);
        }
    }

    /// Renames the file to its final name, once all is on disk.
    pub(super) fn finish(self, id: u64, n_body: u64, index: &[u8]) -> Result<(), CheckpointError> {
        let Self { path, draft, file } = self;
        let finish = |file: File| {
            file.set_len(HEADER_BYTES + n_body)?;
            file.write_all_at(index, HEADER_BYTES + n_body)?;
            let header = FileHeader::of(&file, (id, n_body, index.len() as u64))?;
            file.write_all_at(bytemuck::bytes_of(&header), 0)?;
            draft.publish_durably(&file)
        };
        let finished = file.and_then(finish);
        finished.map_err(|source| CheckpointError::File { path, source })
    }
}

/// Complete checkpoint found on disk, on rank 0.
#[derive(Debug)]
pub(crate) struct Found {
    path: PathBuf,
    pub(crate) index: Index,
    /// Files of variable and of constant data.
    files: [File; 2],
}

impl Found {
    /// Opens the checkpoint of this program, if there is one.
    pub(crate) fn at(path: &Path) -> Result<Option<Self>, CheckpointError> {
        let file = match File::open(path) {
            Ok(file) => file,
            // If it is unknown whether there is one, the program must not begin anew and overwrite it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unusable(path, error)),
        };
        let (header, index) = format::first(&file).map_err(|fault| unusable(path, fault))?;
        let this = program();
        if index.program != this {
            let (path, written_by) = (path.to_owned(), index.program);
            return Err(CheckpointError::Program { path, written_by, this });
        }
        let at = constants_at(path, index.constants);
        let constants = File::open(&at).map_err(|error| unusable(&at, error))?;
        format::second(&constants, &header, &index).map_err(|fault| unusable(&at, fault))?;
        Ok(Some(Self { path: path.to_owned(), index, files: [file, constants] }))
    }

    /// Error for content that is inconsistent.
    pub(super) fn damaged(&self) -> CheckpointError {
        unusable(&self.path, FileFault::Damaged)
    }

    /// Reads a part of the arrays.
    pub(super) fn read(
        &self,
        is_constant: bool,
        bytes: &mut [u8],
        at: u64,
    ) -> Result<(), CheckpointError> {
        let read = self.files[usize::from(is_constant)].read_exact_at(bytes, HEADER_BYTES + at);
        read.map_err(|source| CheckpointError::File { path: self.path.clone(), source })
    }
}

/// Error for a file with this defect.
fn unusable(path: &Path, fault: impl Into<FileFault>) -> CheckpointError {
    CheckpointError::Unusable { path: path.to_owned(), fault: fault.into() }
}

/// Path of the file of constant data with this id.
pub(super) fn constants_at(path: &Path, id: u64) -> PathBuf {
    path.with_added_extension(format!("constant-{id:016x}"))
}

/// Paths of all files of constant data beside a checkpoint.
pub(super) fn all_constants(path: &Path) -> Vec<PathBuf> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_ours = |found: &PathBuf| {
        let found = found.file_name().unwrap_or_default().to_string_lossy();
        found.strip_prefix(&*name).is_some_and(|rest| rest.starts_with(".constant-"))
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    // Paths in the form of `path`: without a folder where it has none.
    entries.map(|entry| path.with_file_name(entry.file_name())).filter(is_ours).collect()
}

/// Name of this program with its own arguments: those of this library may differ between runs.
pub(super) fn program() -> String {
    let (_, own) = crate::Options::parse(std::env::args().skip(1));
    std::iter::once(crate::control::program_name()).chain(own).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes the files of constant and, unless killed before, of variable data, as `writing` does.
    fn write(path: &Path, id: u64, is_killed: bool) {
        let index = Index { program: program(), constants: id, ..Index::default() };
        let text = serde_json::to_vec(&index).unwrap();
        CheckpointDraft::of(&constants_at(path, id)).finish(id, 0, &[]).unwrap();
        let draft = CheckpointDraft::of(path);
        if !is_killed {
            draft.finish(id, 0, &text).unwrap();
        }
    }

    /// Id of the checkpoint on disk.
    fn found(path: &Path) -> Option<u64> {
        Found::at(path).unwrap().map(|found| found.index.constants)
    }

    #[test]
    fn a_kill_while_a_checkpoint_is_written_leaves_the_one_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        assert_eq!(found(&path), None);
        write(&path, 1, true);
        assert_eq!(found(&path), None);
        write(&path, 1, false);
        assert_eq!(found(&path), Some(1));
        for n_bytes in [0, 10, 100] {
            for file in [path.clone(), constants_at(&path, 2)] {
                std::fs::write(Draft::of(&file).place(), vec![b'x'; n_bytes]).unwrap();
            }
            assert_eq!(found(&path), Some(1));
        }
        write(&path, 2, true);
        assert_eq!(found(&path), Some(1));
        write(&path, 2, false);
        assert_eq!(found(&path), Some(2));
    }

    /// Regression: constant data of another run under the same name, or returned by a file system, were taken for this
    /// run's.
    #[test]
    fn constant_data_of_another_checkpoint_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        write(&path, 1, false);
        write(&path, 2, false);
        std::fs::rename(constants_at(&path, 1), constants_at(&path, 2)).unwrap();
        let said = Found::at(&path).unwrap_err().to_string();
        assert!(said.contains("is damaged") && said.contains(".constant-"), "{said}");
        std::fs::remove_file(constants_at(&path, 2)).unwrap();
        assert!(matches!(Found::at(&path), Err(CheckpointError::Unusable { .. })));
    }

    /// Regression: where the folder was not readable, or the name not valid, a program began anew and would have
    /// overwritten its checkpoint.
    #[test]
    fn a_file_that_cannot_be_looked_at_is_no_missing_one() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("file"), "").unwrap();
        let below = folder.path().join("file/state");
        assert!(matches!(Found::at(&below), Err(CheckpointError::Unusable { .. })));
    }

    /// Regression: a checkpoint without a folder, as in `--checkpoint cg.checkpoint`, lost its constant data as soon as
    /// they were written: `./cg.checkpoint.constant-...` was taken for those of another checkpoint.
    #[test]
    fn constant_data_are_known_by_the_name_that_they_were_given() {
        let folder = tempfile::tempdir().unwrap();
        let long = folder.path().join("state");
        let own = constants_at(&long, 7);
        std::fs::write(&own, "").unwrap();
        std::fs::write(folder.path().join("other.constant-7"), "").unwrap();
        assert_eq!(all_constants(&long), [own]);
        // Tests run in this crate's folder.
        let short = Path::new("Cargo.toml.test");
        let own = constants_at(short, u64::from(std::process::id()));
        std::fs::write(&own, "").unwrap();
        let found = all_constants(short);
        std::fs::remove_file(&own).unwrap();
        assert!(found.contains(&own), "{found:?}");
    }
}
