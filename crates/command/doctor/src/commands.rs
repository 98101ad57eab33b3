//! Finds commands of this machine and reads what they print.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use user_io::commands::{end, read};

/// Time after which a command that has not ended is killed.
const LIMIT: Duration = Duration::from_secs(3);

/// Path of the program of this name in `PATH`.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Returns what a command prints on both streams; `None` if it does not start or does not end in time.
pub(crate) fn output_of(program: &str, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // This program may be watched itself; the command should not be.
    let mut child = command.env_remove("LD_PRELOAD").spawn().ok()?;
    let Ok((output, errors)) = read(&mut child) else {
        end(&mut child);
        return None;
    };
    let deadline = Instant::now() + LIMIT;
    while child.try_wait().ok()?.is_none() {
        if deadline < Instant::now() {
            end(&mut child);
            return None;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Some([output, errors].into_iter().filter_map(|reader| reader.join().ok()?.ok()).collect())
}
