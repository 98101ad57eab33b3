//! Runs commands with a limit of time, and returns their output.
//!
//! # Not here
//! Commands that are ended by signals to their group or to us (`cli`), and those of tests (`launch`).

use std::io::{self, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const LOOKS_EVERY: Duration = Duration::from_millis(2);

/// Command that has ended.
#[derive(Clone, Debug)]
pub struct EndedCommand {
    /// Exit status.
    pub status: ExitStatus,
    /// Standard output.
    pub output: String,
    /// Standard error.
    pub errors: String,
}

/// Reasons why a command did not end by itself.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// It cannot be started.
    #[error("cannot be started: {0}")]
    Start(#[source] io::Error),
    /// Its output cannot be read, or it cannot be waited for.
    #[error("cannot be read: {0}; see `ulimit -u`")]
    Read(#[source] io::Error),
    /// It took longer than this.
    #[error("did not answer within {} s", .0.as_secs_f64())]
    Late(Duration),
}

impl EndedCommand {
    /// Last line of standard error, for a sentence about its failure.
    #[must_use]
    pub fn complaint(&self) -> &str {
        self.errors.trim().lines().next_back().unwrap_or("no word")
    }
}

/// Runs a command without input. After `limit` it is killed.
///
/// # Errors
/// If it does not start, or does not end in time.
pub fn run(command: &mut Command, limit: Duration) -> Result<EndedCommand, CommandError> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(CommandError::Start)?;
    answer(child, limit)
}

/// Runs a command that reads `input`. After `limit` it is killed.
///
/// # Errors
/// If it does not start, or does not end in time. One that ends before it has read everything is no error.
pub fn run_with_input(
    command: &mut Command,
    input: Vec<u8>,
    limit: Duration,
) -> Result<EndedCommand, CommandError> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(CommandError::Start)?;
    if let Some(mut pipe) = child.stdin.take() {
        // In a thread of its own: the command may wait for us to read what it writes.
        let writer = thread::Builder::new().name("input".to_owned());
        let writer = writer.spawn(move || pipe.write_all(&input).unwrap_or_default());
        if let Err(error) = writer {
            child.kill().and_then(|()| child.wait()).ok();
            return Err(CommandError::Read(error));
        }
    }
    answer(child, limit)
}

fn answer(mut child: Child, limit: Duration) -> Result<EndedCommand, CommandError> {
    // Both pipes are read meanwhile: a long output would fill one, and the command would wait.
    let readers =
        reader(child.stdout.take()).and_then(|output| Ok((output, reader(child.stderr.take())?)));
    let ended = readers.and_then(|readers| Ok((readers, wait(&mut child, limit)?)));
    let error = match ended {
        Ok(((output, errors), Some(status))) => {
            let text = |reader: JoinHandle<String>| reader.join().unwrap_or_default();
            return Ok(EndedCommand { status, output: text(output), errors: text(errors) });
        }
        Ok((_, None)) => CommandError::Late(limit),
        Err(error) => CommandError::Read(error),
    };
    // It may just have ended.
    child.kill().and_then(|()| child.wait()).ok();
    Err(error)
}

/// Waits for a child up to `limit`; returns `None` if it still runs then.
///
/// # Errors
/// If it cannot be waited for.
pub fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let began = Instant::now();
    loop {
        match child.try_wait()? {
            None if began.elapsed() < limit => thread::sleep(LOOKS_EVERY),
            ended => return Ok(ended),
        }
    }
}

fn reader(pipe: Option<impl Read + Send + 'static>) -> io::Result<JoinHandle<String>> {
    thread::Builder::new().name("answer".to_owned()).spawn(move || {
        let mut bytes = Vec::new();
        // What was read before a failure counts.
        pipe.map(|mut pipe| pipe.read_to_end(&mut bytes).ok());
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, limit_ms: u64) -> Result<EndedCommand, CommandError> {
        run(Command::new("sh").args(["-c", script]), Duration::from_millis(limit_ms))
    }

    #[test]
    fn what_a_command_prints_is_read_however_long_it_is() {
        let long = sh("yes | head -c 200000; echo first >&2; echo last >&2; exit 3", 60_000);
        let ended = long.unwrap();
        assert_eq!((ended.status.code(), ended.output.len()), (Some(3), 200_000));
        assert_eq!(ended.complaint(), "last");
    }

    #[test]
    fn a_command_gets_its_input_however_much_it_reads() {
        let with = |script: &str, input: &str| {
            let mut command = Command::new("sh");
            let input = input.as_bytes().to_vec();
            run_with_input(command.args(["-c", script]), input, Duration::from_secs(60)).unwrap()
        };
        assert_eq!(with("cat", &"x".repeat(200_000)).output.len(), 200_000);
        assert_eq!(with("read line; echo $line", &"ab\n".repeat(100_000)).output, "ab\n");
        assert!(with("exit 0", &"x".repeat(200_000)).status.success());
    }

    #[test]
    fn a_command_that_does_not_end_is_killed() {
        let began = Instant::now();
        let error = sh("exec sleep 60", 20).unwrap_err();
        assert_eq!(error.to_string(), "did not answer within 0.02 s");
        assert!(began.elapsed() < Duration::from_secs(30));
        let missing = run(&mut Command::new("no-such-command"), Duration::from_secs(1));
        assert!(matches!(missing, Err(CommandError::Start(_))));
    }
}
