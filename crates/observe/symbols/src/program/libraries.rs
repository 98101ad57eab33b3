//! Libraries that a program is linked with, found by the loader's rules; not those that it opens itself.

use super::image::Image;
use object::elf::{DT_NEEDED, DT_RPATH, DT_RUNPATH};
use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

/// Default folders of the loader.
const FOLDERS: [&str; 8] = [
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
    "/usr/local/lib",
    "/usr/local/lib/x86_64-linux-gnu",
];

/// Upper bound of the number of libraries of a program.
const N_LIBRARIES_MAX: usize = 1000;

/// Libraries requested by a file, with its search folders.
#[derive(Debug, Default)]
struct Needed {
    names: Vec<String>,
    /// Folders searched before those of `LD_LIBRARY_PATH` (`DT_RPATH`).
    folders_before: Vec<PathBuf>,
    /// Folders searched after them (`DT_RUNPATH`).
    folders_after: Vec<PathBuf>,
}

/// Libraries of a program.
#[derive(Debug, Default)]
pub(crate) struct Linked {
    /// Paths of their files, nearest first.
    pub(crate) found: Vec<PathBuf>,
    /// Names of libraries not found.
    pub(crate) missing: BTreeSet<String>,
}

/// Finds all libraries that `program` is linked with; `library_path` are the folders of its `LD_LIBRARY_PATH`.
pub(crate) fn of(program: &Image, library_path: &[PathBuf]) -> Linked {
    let mut linked = Linked::default();
    let mut usual = configured_folders(Path::new("/etc/ld.so.conf"), 0);
    usual.extend(FOLDERS.iter().map(PathBuf::from));
    let mut waiting = VecDeque::from([needed(program)]);
    while let Some(needed) = waiting.pop_front() {
        let folders = [&needed.folders_before, library_path, &needed.folders_after, &usual];
        for name in &needed.names {
            let Some(path) = locate(name, &folders) else {
                linked.missing.insert(name.clone());
                continue;
            };
            if !linked.found.contains(&path) && linked.found.len() < N_LIBRARIES_MAX {
                waiting.extend(Image::open(&path).ok().as_ref().map(self::needed));
                linked.found.push(path);
            }
        }
    }
    linked
}

fn locate(name: &str, folders: &[&[PathBuf]]) -> Option<PathBuf> {
    if name.contains('/') {
        return Path::new(name).canonicalize().ok();
    }
    let mut all = folders.iter().copied().flatten().map(|folder| folder.join(name));
    all.find(|path| path.exists())?.canonicalize().ok()
}

fn needed(image: &Image) -> Needed {
    let mut needed = Needed::default();
    let Some(file) = image.file() else { return needed };
    let endian = file.endian();
    let headers = file.elf_header().program_headers(endian, file.data()).unwrap_or_default();
    let dynamic = headers.iter().find_map(|header| header.dynamic(endian, file.data()).ok()?);
    let strings = file.elf_dynamic_symbol_table().strings();
    let origin = image.path.canonicalize().ok();
    let origin = origin.as_deref().and_then(Path::parent).unwrap_or(Path::new("."));
    for entry in dynamic.unwrap_or_default() {
        let text = || {
            let offset = u32::try_from(entry.d_val(endian)).ok()?;
            std::str::from_utf8(strings.get(offset).ok()?).ok()
        };
        match entry.d_tag(endian) {
            DT_NEEDED => needed.names.extend(text().map(str::to_owned)),
            tag @ (DT_RUNPATH | DT_RPATH) => {
                let folders = text().unwrap_or_default().split(':');
                let folders = folders.filter(|folder| !folder.is_empty());
                let folders = folders.map(|folder| at_origin(folder, origin));
                match tag {
                    DT_RUNPATH => needed.folders_after.extend(folders),
                    _ => needed.folders_before.extend(folders),
                }
            }
            _ => {}
        }
    }
    needed
}

fn at_origin(folder: &str, origin: &Path) -> PathBuf {
    let origin = origin.to_string_lossy();
    folder.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin).into()
}

/// Returns the folders listed in the loader's configuration.
fn configured_folders(file: &Path, depth: usize) -> Vec<PathBuf> {
    const DEPTH_MAX: usize = 4;
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let mut folders = Vec::new();
    for line in lines.filter(|line| !line.is_empty()) {
        match line.strip_prefix("include ") {
            Some(pattern) if depth < DEPTH_MAX => {
                let files = included(pattern.trim());
                folders.extend(files.iter().flat_map(|file| configured_folders(file, depth + 1)));
            }
            Some(_) => {}
            None => folders.push(PathBuf::from(line)),
        }
    }
    folders
}

/// Expands an include; `include FOLDER/*.conf` is the only pattern in use.
fn included(pattern: &str) -> Vec<PathBuf> {
    let Some(folder) = pattern.strip_suffix("/*.conf") else { return vec![pattern.into()] };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "conf"));
    files.sort();
    files
}
