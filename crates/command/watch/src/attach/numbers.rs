//! Asks a master that runs already for its own numbers: a program of the master/worker library writes them into the
//! record once it knows the folder.
//!
//! # Not here
//! Writing the numbers into the folder (`master-worker/src/report_file.rs`).

use events::ModuleMap;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;
use symbols::embedded_variable;

/// Variable of the program that holds the path of the folder, terminated by a zero byte.
const VARIABLE: &str = "mw_report_folder";

/// Process that was asked, and where the path lies in its memory.
#[derive(Debug)]
pub(super) struct ReportRequest {
    pid: i32,
    address: u64,
    n_bytes: usize,
}

/// Asks a process to write its numbers into `folder`; `None` if its program has no such variable or cannot be written to.
pub(super) fn ask(pid: i32, folder: &Path) -> Option<ReportRequest> {
    let folder = folder.canonicalize().ok()?;
    let path = folder.as_os_str().as_bytes();
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    let (map, _) = ModuleMap::parse(&maps);
    let mut found = map
        .files()
        .filter_map(|(file, start)| Some((start, embedded_variable(Path::new(file), VARIABLE)?)));
    let (start, variable) = found.next()?;
    let n_bytes = usize::try_from(variable.n_bytes).ok().filter(|n_bytes| path.len() < *n_bytes)?;
    let request =
        ReportRequest { pid, address: start.checked_add(variable.offset_in_memory)?, n_bytes };
    request.write(path).is_ok().then_some(request)
}

impl ReportRequest {
    /// Sets the variable in the process to zeros again.
    pub(super) fn withdraw(&self) {
        // The process may have ended.
        self.write_at(0, &vec![0; self.n_bytes]).ok();
    }

    /// Writes the path, its first byte last: the process reads nothing before that byte is set.
    fn write(&self, path: &[u8]) -> io::Result<()> {
        let Some((first, rest)) = path.split_first() else { return Ok(()) };
        self.write_at(1, &[rest, &[0]].concat())?;
        self.write_at(0, &[*first])
    }

    fn write_at(&self, place: u64, bytes: &[u8]) -> io::Result<()> {
        let memory = OpenOptions::new().write(true).open(format!("/proc/{}/mem", self.pid))?;
        memory.write_all_at(bytes, self.address + place)
    }
}
