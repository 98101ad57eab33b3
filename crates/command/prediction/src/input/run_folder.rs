//! Files that hold one run each: profiles of Caliper and Score-P, summaries of TALP, and scans of hyperfine.

use fitting::formats::Format;
use fitting::formats::run_files::RunFiles;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use user_io::bounded_read;

/// Ending of profiles of Caliper.
const OF_CALIPER: &str = "cali";
/// Ending of summaries of TALP, scans of hyperfine, and of other files.
const OF_JSON: &str = "json";
/// Ending of profiles of Score-P.
const OF_SCOREP: &str = "cubex";
/// Number of folders within each other.
const DEPTH_MAX: usize = 8;
const NO_TEXT: &str = "it is not text in UTF-8";
/// Bytes of all files.
const BYTES_MAX: u64 = 4 * bounded_read::MEASURED_BYTES_MAX;

/// Reads the files of a folder and of those in it; `None` if none holds runs.
///
/// # Errors
/// If a folder cannot be listed, or the files are too large.
pub(super) fn read(folder: &Path) -> io::Result<Option<RunFiles>> {
    let mut paths = Vec::new();
    list(folder, DEPTH_MAX, &mut paths)?;
    paths.sort();
    let (mut runs, mut n_bytes) = (RunFiles::default(), 0);
    let mut has_runs = paths.iter().any(|path| ends_with(path, OF_CALIPER) || is_cube(path));
    for path in &paths {
        let name = path.strip_prefix(folder).unwrap_or(path).display().to_string();
        let bytes = match bounded_read::read(path, bounded_read::MEASURED_BYTES_MAX) {
            Ok(bytes) => bytes,
            Err(error) => {
                runs.leave_out(&name, error);
                continue;
            }
        };
        n_bytes += bytes.len() as u64;
        if is_cube(path) {
            runs.add_cube(&name, &name, &bytes);
        } else if let Some(text) = bounded_read::text(&bytes) {
            // A damaged first line costs itself.
            let format = match Format::of(&text) {
                Format::Csv if ends_with(path, OF_CALIPER) => Format::Caliper,
                format => format,
            };
            has_runs |= RunFiles::are_of(format) || format == Format::Hyperfine;
            runs.add(&name, format, &text);
        } else if ends_with(path, OF_CALIPER) {
            runs.leave_out(&name, NO_TEXT);
        } else {
            runs.ignore(&name);
        }
        if BYTES_MAX < n_bytes {
            let n_mib = BYTES_MAX >> 20;
            let what =
                format!("its files have more than {n_mib} MiB, the most that is read; give fewer");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
        }
    }
    Ok(has_runs.then_some(runs))
}

/// Returns the run of a CUBE file.
pub(super) fn of_cube(path: &Path, bytes: &[u8]) -> RunFiles {
    let mut runs = RunFiles::default();
    let full = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    runs.add_cube("", &full.display().to_string(), bytes);
    runs
}

/// Returns whether a file is one of CUBE, by its name.
pub(super) fn is_cube(path: &Path) -> bool {
    ends_with(path, OF_SCOREP)
}

fn ends_with(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|found| found == ending)
}

fn list(folder: &Path, depth: usize, paths: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let kind = entry.file_type()?;
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        let endings = [OF_CALIPER, OF_SCOREP, OF_JSON];
        let is_named_so = !is_hidden && endings.iter().any(|ending| ends_with(&path, ending));
        if kind.is_dir() && 0 < depth {
            list(&path, depth - 1, paths)?;
        } else if !kind.is_dir() && is_named_so {
            paths.push(path);
        }
    }
    Ok(())
}
