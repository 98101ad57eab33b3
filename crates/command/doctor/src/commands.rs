//! Finds commands of this machine and reads what they print.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

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
    // This program may be watched itself; the command should not be.
    let ended = timed_command::run(command.args(arguments).env_remove("LD_PRELOAD"), LIMIT);
    ended.ok().map(|ended| ended.output + &ended.errors)
}
