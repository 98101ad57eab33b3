//! What commands of others answer.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const LOOK_EVERY: Duration = Duration::from_millis(5);

/// What a command prints on standard output; else why there is nothing, in words.
pub(crate) fn answer(program: &str, arguments: &[&str], limit: Duration) -> Result<String, String> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // We may be watched ourselves; what we ask is not.
    let child = command.env_remove("LD_PRELOAD").spawn();
    let mut child = child.map_err(|error| format!("`{program}` cannot be started: {error}"))?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    // Read meanwhile: a long answer would fill the pipes.
    let output = std::thread::spawn(move || stdout.map(std::io::read_to_string));
    let errors = std::thread::spawn(move || stderr.map(std::io::read_to_string));
    let until = Instant::now() + limit;
    let status = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break status,
            None if until < Instant::now() => {
                child.kill().and_then(|()| child.wait()).map(drop).unwrap_or_default();
                return Err(format!("`{program}` did not answer within {} s", limit.as_secs()));
            }
            None => std::thread::sleep(LOOK_EVERY),
        }
    };
    let text = |reader: std::thread::JoinHandle<Option<std::io::Result<String>>>| {
        reader.join().ok().flatten().and_then(Result::ok).unwrap_or_default()
    };
    if status.success() {
        return Ok(text(output));
    }
    let said = text(errors);
    Err(said.trim().lines().next_back().unwrap_or("no word").to_owned())
}
