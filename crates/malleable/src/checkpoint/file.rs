//! Files of a checkpoint: a head, arrays, and in the first one an index of both.

use super::error::CheckpointError;
use super::index::Index;
use bytemuck::{Pod, Zeroable};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const MAGIC: [u8; 8] = *b"SINTOCKP";
const VERSION: u64 = 1;

/// How a file begins.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
struct Head {
    magic: [u8; 8],
    version: u64,
    /// Whatever else has this number belongs to it.
    id: u64,
    n_body: u64,
    n_index: u64,
    /// Of all that follows.
    checksum: u64,
}

const HEAD_BYTES: u64 = size_of::<Head>() as u64;

/// A file that is written; after something went wrong, nothing more is.
#[derive(Debug)]
pub(super) struct Draft {
    path: PathBuf,
    file: io::Result<File>,
}

impl Draft {
    /// Beside the file that it becomes.
    pub(super) fn of(path: &Path) -> Self {
        let beside = with_suffix(path, ".new");
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&beside);
        Self { path: path.to_owned(), file }
    }

    /// Writes a part of the arrays.
    pub(super) fn write(&mut self, bytes: &[u8], at: u64) {
        if let Ok(file) = &self.file
            && let Err(error) = file.write_all_at(bytes, HEAD_BYTES + at)
        {
            self.file = Err(error);
        }
    }

    /// Reads what was written.
    pub(super) fn read(&self, bytes: &mut [u8], at: u64) {
        if let Ok(file) = &self.file {
            // What cannot be read shows when the file is finished, which reads all of it.
            let _read = file.read_exact_at(bytes, HEAD_BYTES + at);
        }
    }

    /// Gives the file its name, when all is on disk.
    pub(super) fn finish(self, id: u64, n_body: u64, index: &[u8]) -> Result<(), CheckpointError> {
        let Self { path, file } = self;
        let beside = with_suffix(&path, ".new");
        let finish = |file: File| {
            file.set_len(HEAD_BYTES + n_body)?;
            file.write_all_at(index, HEAD_BYTES + n_body)?;
            let checksum = checksum(&file)?;
            let (magic, version, n_index) = (MAGIC, VERSION, index.len() as u64);
            let head = Head { magic, version, id, n_body, n_index, checksum };
            file.write_all_at(bytemuck::bytes_of(&head), 0)?;
            file.sync_all()?;
            std::fs::rename(&beside, &path)?;
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
        };
        let finished = file.and_then(finish);
        finished.map_err(|source| {
            // What is left of it is in nobody's way.
            let _removed = std::fs::remove_file(&beside);
            CheckpointError::File { path, source }
        })
    }
}

/// A checkpoint that is there and complete, on rank 0.
#[derive(Debug)]
pub(crate) struct Found {
    path: PathBuf,
    pub(crate) index: Index,
    /// Variable and constant data.
    files: [File; 2],
}

impl Found {
    /// The checkpoint of this program, if there is one.
    pub(crate) fn at(path: &Path) -> Result<Option<Self>, CheckpointError> {
        if !path.exists() {
            return Ok(None);
        }
        let (file, head) = open(path)?;
        let mut text = vec![0; usize::try_from(head.n_index).unwrap_or(0)];
        let read = file.read_exact_at(&mut text, HEAD_BYTES + head.n_body);
        read.map_err(|source| CheckpointError::File { path: path.to_owned(), source })?;
        let damaged = |_| CheckpointError::Damaged { path: path.to_owned() };
        let index: Index = serde_json::from_slice(&text).map_err(damaged)?;
        let this = program();
        if index.program != this {
            let (path, written_by) = (path.to_owned(), index.program);
            return Err(CheckpointError::Program { path, written_by, this });
        }
        let (constants, _) = open(&constants_at(path, index.constants))?;
        Ok(Some(Self { path: path.to_owned(), index, files: [file, constants] }))
    }

    /// Reads a part of the arrays.
    pub(super) fn read(
        &self,
        is_constant: bool,
        bytes: &mut [u8],
        at: u64,
    ) -> Result<(), CheckpointError> {
        let read = self.files[usize::from(is_constant)].read_exact_at(bytes, HEAD_BYTES + at);
        read.map_err(|source| CheckpointError::File { path: self.path.clone(), source })
    }
}

/// Opens a file that has to be complete.
fn open(path: &Path) -> Result<(File, Head), CheckpointError> {
    let path = path.to_owned();
    let failed = |source| CheckpointError::File { path: path.clone(), source };
    let file = File::open(&path).map_err(failed)?;
    let n_bytes = file.metadata().map_err(failed)?.len();
    if n_bytes < HEAD_BYTES {
        return Err(CheckpointError::Truncated { path });
    }
    let mut head = Head::default();
    file.read_exact_at(bytemuck::bytes_of_mut(&mut head), 0).map_err(failed)?;
    if head.magic != MAGIC {
        return Err(CheckpointError::Foreign { path });
    }
    if head.version != VERSION {
        return Err(CheckpointError::Version { path, found: head.version, known: VERSION });
    }
    if n_bytes != HEAD_BYTES.saturating_add(head.n_body).saturating_add(head.n_index) {
        return Err(CheckpointError::Truncated { path });
    }
    if head.checksum != checksum(&file).map_err(failed)? {
        return Err(CheckpointError::Damaged { path });
    }
    Ok((file, head))
}

/// Of all that follows the head: words are mixed as they come.
fn checksum(mut file: &File) -> io::Result<u64> {
    const PRIME: u64 = 0x0100_0000_01b3;
    file.seek(SeekFrom::Start(HEAD_BYTES))?;
    let mut piece = Vec::with_capacity(super::PIECE_BYTES);
    let mut mixed = 0xcbf2_9ce4_8422_2325_u64;
    loop {
        piece.clear();
        file.take(super::PIECE_BYTES as u64).read_to_end(&mut piece)?;
        if piece.is_empty() {
            return Ok(mixed);
        }
        let (words, rest) = piece.as_chunks::<8>();
        for word in words {
            mixed = (mixed ^ u64::from_le_bytes(*word)).wrapping_mul(PRIME).rotate_left(23);
        }
        for byte in rest {
            mixed = (mixed ^ u64::from(*byte)).wrapping_mul(PRIME);
        }
    }
}

/// The file of constant data with this number.
pub(super) fn constants_at(path: &Path, id: u64) -> PathBuf {
    with_suffix(path, &format!(".constant-{id:016x}"))
}

/// All files of constant data beside a checkpoint.
pub(super) fn all_constants(path: &Path) -> Vec<PathBuf> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_ours = |found: &PathBuf| {
        let found = found.file_name().unwrap_or_default().to_string_lossy();
        found.strip_prefix(&*name).is_some_and(|rest| rest.starts_with(".constant-"))
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| folder.join(entry.file_name())).filter(is_ours).collect()
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    path.with_file_name(name)
}

/// This program with its own arguments: those of this library may differ.
pub(super) fn program() -> String {
    let name = std::env::current_exe().unwrap_or_default();
    let name = name.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let own = crate::Options::parse(std::env::args().skip(1));
    let own = own.map(|(_, own)| own).unwrap_or_default();
    std::iter::once(name).chain(own).collect::<Vec<_>>().join(" ")
}
