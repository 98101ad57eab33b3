//! Command that starts another process of this program.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// Path of this program, and the arguments of this process: from the system, since a C program removes options from its
/// own list.
pub(super) fn own_command() -> Vec<OsString> {
    let line = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    let words = line.split_inclusive(|byte| *byte == 0);
    let mut words =
        words.map(|word| OsString::from_vec(word.strip_suffix(&[0]).unwrap_or(word).to_vec()));
    let name = words.next().unwrap_or_default();
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let file = std::env::current_exe().unwrap_or_default();
    std::iter::once(as_called(&name, &folders, &file).into_os_string()).chain(words).collect()
}

/// Path by which this program was called, if it leads to its file; an interpreter of a virtual environment is a link, and
/// finds its modules by the path of the link.
fn as_called(name: &OsStr, folders: &OsStr, file: &Path) -> PathBuf {
    let is_path = Path::new(name).components().count() != 1;
    let found = std::env::split_paths(if is_path { OsStr::new(".") } else { folders })
        .map(|folder| folder.join(name))
        .find(|path| path.canonicalize().is_ok_and(|at| at == file));
    found.and_then(|path| std::path::absolute(path).ok()).unwrap_or_else(|| file.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_called_again_by_its_link() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let (file, link) = (folder.join("file"), folder.join("link"));
        std::fs::write(&file, "").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let check = |name: &OsStr, expected: &Path| {
            assert_eq!(as_called(name, folder.as_os_str(), &file), expected, "{}", name.display());
        };
        check(link.as_os_str(), &link);
        check(OsStr::new("link"), &link);
        check(OsStr::new("file"), &file);
        // A program may give itself any name.
        check(OsStr::new("solver: step 3"), &file);
        check(OsStr::new(""), &file);
    }
}
