//! Runs commands of other tools and reads what they print.

use std::io::{self, Read};
use std::process::{Child, Command, Stdio};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Returns what a command prints on standard output.
///
/// # Errors
/// A sentence that says why there is nothing.
pub fn output_of(program: &str, arguments: &[&str], limit: Duration) -> Result<String, String> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // This program may be watched itself; the command should not be.
    let child = command.env_remove("LD_PRELOAD").spawn();
    let mut child = child.map_err(|error| format!("`{program}` cannot be started: {error}"))?;
    let (output, errors) = match read(&mut child) {
        Ok(readers) => readers,
        Err(error) => {
            end(&mut child);
            return Err(format!(
                "cannot start a thread to read the output of `{program}`: {error}; see `ulimit -u`"
            ));
        }
    };
    let until = Instant::now() + limit;
    let status = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break status,
            None if until < Instant::now() => {
                end(&mut child);
                return Err(format!("`{program}` did not answer within {} s", limit.as_secs()));
            }
            None => std::thread::sleep(POLL_INTERVAL),
        }
    };
    let text = |reader: Reader| reader.join().ok().and_then(Result::ok).unwrap_or_default();
    if status.success() {
        return Ok(text(output));
    }
    let error_output = text(errors);
    Err(error_output.trim().lines().next_back().unwrap_or("no word").to_owned())
}

/// A thread that reads a pipe to its end.
pub type Reader = JoinHandle<io::Result<String>>;

/// Reads both pipes of a child while it runs: a long output would fill a pipe and block the child.
///
/// # Errors
/// If no thread can be started.
pub fn read(child: &mut Child) -> io::Result<(Reader, Reader)> {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    Ok((reader(stdout)?, reader(stderr)?))
}

/// Reads a pipe to its end, if there is one.
///
/// # Errors
/// If no thread can be started.
pub fn reader(pipe: Option<impl Read + Send + 'static>) -> io::Result<Reader> {
    let read = || pipe.map_or(Ok(String::new()), io::read_to_string);
    Builder::new().name("answer".to_owned()).spawn(read)
}

/// Kills a child that is no longer waited for; it may just have ended.
pub fn end(child: &mut Child) {
    child.kill().and_then(|()| child.wait()).map(drop).unwrap_or_default();
}
