//! Folder of files that hold one run each: profiles of Caliper and summaries of TALP.

use fitting::formats::Format;
use fitting::formats::run_files::RunFiles;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use user_io::bounded_read;

/// Ending of profiles of Caliper.
const OF_CALIPER: &str = "cali";
/// Ending of summaries of TALP, and of other files.
const OF_TALP: &str = "json";
/// Number of folders within each other.
const DEPTH_MAX: usize = 8;
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
    let mut has_runs = paths.iter().any(|path| ends_with(path, OF_CALIPER));
    for path in &paths {
        let name = path.strip_prefix(folder).unwrap_or(path).display().to_string();
        match bounded_read::read_text(path, bounded_read::MEASURED_BYTES_MAX) {
            Ok(text) => {
                n_bytes += text.len() as u64;
                let format = Format::of(&text);
                has_runs |= RunFiles::are_of(format);
                runs.add(&name, format, &text);
            }
            Err(error) => runs.leave_out(&name, error),
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

fn ends_with(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|found| found == ending)
}

fn list(folder: &Path, depth: usize, paths: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let kind = entry.file_type()?;
        let is_named_so = ends_with(&path, OF_CALIPER) || ends_with(&path, OF_TALP);
        if kind.is_dir() && 0 < depth {
            list(&path, depth - 1, paths)?;
        } else if !kind.is_dir() && is_named_so {
            paths.push(path);
        }
    }
    Ok(())
}
