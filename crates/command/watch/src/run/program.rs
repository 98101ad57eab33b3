//! Finds the programs that the words of a command name, and warns of those that cannot be watched.

use crate::programs::Programs;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

const SETUID_SETGID: u32 = 0o6000;
const ELF_HEADER_BYTES: usize = 64;
const PROGRAM_HEADER_BYTES: usize = 56;
const N_PROGRAM_HEADERS_MAX: usize = 256;
/// Type of the program header that asks for a dynamic linker, which preloads libraries.
const PT_INTERP: u32 = 3;

/// Sentences about programs of `command` that cannot be watched.
pub(crate) fn warnings(command: &[OsString]) -> Vec<String> {
    let Some(path) = observed_program(command) else { return Vec::new() };
    let name = path.display();
    let is_privileged =
        std::fs::metadata(&path).is_ok_and(|metadata| metadata.mode() & SETUID_SETGID != 0);
    let why = match () {
        () if is_static(&path) => "is statically linked and cannot be watched; link it dynamically",
        () if is_privileged => {
            "is setuid or setgid, so that nothing is preloaded; run a copy of it"
        }
        () => return Vec::new(),
    };
    vec![format!("`{name}` {why}")]
}

/// Short name of the run: that of the program, not of the launcher.
pub(crate) fn name(command: &[OsString]) -> String {
    let program = observed_program(command).or_else(|| command.first().map(PathBuf::from));
    crate::programs::plain_name(program.as_deref())
}

/// Programs that the words of the command name.
pub(crate) fn programs(command: &[OsString]) -> Programs {
    let all = command.iter().filter_map(|word| executable(word)).collect();
    Programs { observed: observed_program(command), all, library_path: library_path(command) }
}

/// Value that the command gives to `LD_LIBRARY_PATH` (`env NAME=VALUE`, `-x NAME=VALUE`, `-genv NAME VALUE`), or
/// inherits.
fn library_path(command: &[OsString]) -> Option<OsString> {
    const NAME: &str = "LD_LIBRARY_PATH";
    let set_at = |idx: usize| match command.get(idx.checked_sub(1)?)?.to_str()? {
        "-genv" | "-env" if command[idx] == NAME => command.get(idx + 1).map(OsString::as_os_str),
        _ => {
            let value = command[idx].as_bytes().strip_prefix(NAME.as_bytes())?;
            value.strip_prefix(b"=").map(OsStr::from_bytes)
        }
    };
    let set = (0..command.len()).rev().find_map(set_at).map(OsStr::to_owned);
    set.or_else(|| std::env::var_os(NAME))
}

/// Program that the launcher's words name, or the command itself.
fn observed_program(command: &[OsString]) -> Option<PathBuf> {
    let (first, rest) = command.split_first()?;
    let launched = rest.iter().filter(|word| !word.as_encoded_bytes().starts_with(b"-"));
    let program = |word: &&OsString| executable(word).filter(|path| is_elf(path));
    let has_path = |word: &&OsString| word.as_encoded_bytes().contains(&b'/');
    // An option's value may be the name of a command, as in `--map-by node`.
    let named = launched.clone().filter(has_path).find_map(|word| program(&word));
    named.or_else(|| launched.clone().find_map(|word| program(&word))).or_else(|| executable(first))
}

/// File that running `word` would execute.
fn executable(word: &OsStr) -> Option<PathBuf> {
    let is_executable = |path: &PathBuf| {
        std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.mode() & 0o111 != 0)
    };
    if word.as_encoded_bytes().contains(&b'/') {
        return Some(PathBuf::from(word)).filter(is_executable);
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(word)).find(is_executable)
}

fn is_elf(path: &Path) -> bool {
    let mut magic = [0; 4];
    File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok()
        && magic == *b"\x7fELF"
}

/// Returns whether a program has no dynamic linker; false if its file cannot be read.
fn is_static(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let mut header = [0; ELF_HEADER_BYTES];
    if file.read_exact_at(&mut header, 0).is_err() {
        return false;
    }
    let Some((offset, n_headers)) = program_headers(&header) else { return false };
    let mut headers = vec![0; n_headers * PROGRAM_HEADER_BYTES];
    let is_read = file.read_exact_at(&mut headers, offset).is_ok();
    is_read && !has_interpreter(&headers)
}

/// Offset of the program headers of a 64-bit little-endian ELF file, and their number.
fn program_headers(header: &[u8; ELF_HEADER_BYTES]) -> Option<(u64, usize)> {
    let is_64_bit_little_endian = header.starts_with(b"\x7fELF\x02\x01");
    let offset = u64::from_le_bytes(header[32..40].try_into().ok()?);
    let entry_bytes = usize::from(u16::from_le_bytes([header[54], header[55]]));
    let n_headers = usize::from(u16::from_le_bytes([header[56], header[57]]));
    let is_usual =
        entry_bytes == PROGRAM_HEADER_BYTES && (1..=N_PROGRAM_HEADERS_MAX).contains(&n_headers);
    (is_64_bit_little_endian && is_usual).then_some((offset, n_headers))
}

fn has_interpreter(headers: &[u8]) -> bool {
    let mut entries = headers.chunks_exact(PROGRAM_HEADER_BYTES);
    entries.any(|entry| entry.starts_with(&PT_INTERP.to_le_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(command: &[&str]) -> Vec<OsString> {
        command.iter().map(OsString::from).collect()
    }

    #[track_caller]
    fn check_name(command: &[&str], expected: &str) {
        assert_eq!(name(&words(command)), expected);
    }

    #[test]
    fn a_run_is_named_after_the_program() {
        check_name(&["ls"], "ls");
        check_name(&["/bin/sh", "-c", "exit 3"], "sh");
        check_name(&["env", "-i", "4", "/bin/cat", "x"], "cat");
        check_name(&["env", "--map-by", "sort", "/bin/cat"], "cat");
        check_name(&["not there at all"], "notthereatall");
        check_name(&[], "run");
    }

    #[test]
    fn the_programs_of_a_command_are_known_by_their_files() {
        let programs = programs(&words(&["/bin/env", "-i", "/bin/sh", "-c", "/bin/cat"]));
        let nearest: Vec<_> = programs.nearest_first().collect();
        assert_eq!(nearest, ["/bin/sh", "/bin/env", "/bin/cat"].map(Path::new));
    }

    #[track_caller]
    fn check_library_path(command: &[&str], expected: &str) {
        let own = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let expected = OsString::from(expected.replace("OURS", &own.to_string_lossy()));
        assert_eq!(library_path(&words(command)).unwrap_or_default(), expected);
    }

    #[test]
    fn libraries_are_looked_for_where_the_command_says() {
        check_library_path(&["env", "LD_LIBRARY_PATH=/a:/b", "/bin/cat"], "/a:/b");
        check_library_path(&["mpirun", "-x", "LD_LIBRARY_PATH=/a", "/bin/cat"], "/a");
        check_library_path(&["mpirun", "-genv", "LD_LIBRARY_PATH", "/a", "/bin/cat"], "/a");
        check_library_path(&["mpirun", "-x", "LD_LIBRARY_PATH", "/bin/cat"], "OURS");
        check_library_path(&["/bin/cat"], "OURS");
    }

    #[test]
    fn a_dynamic_program_can_be_watched() {
        assert_eq!(warnings(&words(&["env", "/bin/cat"])), Vec::<String>::new());
    }

    #[test]
    fn a_program_without_linker_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("static");
        let mut bytes = vec![0; ELF_HEADER_BYTES + PROGRAM_HEADER_BYTES];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[32] = 64;
        bytes[54] = 56;
        bytes[56] = 1;
        bytes[64] = 1;
        std::fs::write(&path, &bytes).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&path, mode).unwrap();
        let command = [OsString::from("env"), path.into_os_string()];
        assert!(warnings(&command)[0].contains("statically linked"));
    }
}
