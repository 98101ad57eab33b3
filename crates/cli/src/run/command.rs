//! The command: started with our own input and output, told what we are told, waited for.

use run_record::summary::Outcome;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::siginfo::{Cause, Origin};
use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};

/// How the command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    status: ExitStatus,
}

impl Ending {
    /// The exit code that says the same, as shells have it.
    pub(crate) fn code(&self) -> u8 {
        let code = self.status.code().or_else(|| self.status.signal().map(|signal| 128 + signal));
        code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
    }

    /// The same for the record.
    pub(crate) fn outcome(&self) -> Outcome {
        Outcome { exit_code: self.status.code(), signal: self.status.signal(), complete: true }
    }
}

/// Runs `command` with `variables` set, and waits for its end.
///
/// SIGINT, SIGTERM and SIGHUP no longer end this process: they are passed on, unless they came from the
/// terminal, which sends them to the command as well.
pub(crate) fn run(command: &[OsString], variables: &[(String, OsString)]) -> io::Result<Ending> {
    let (program, arguments) = command.split_first().ok_or(io::ErrorKind::NotFound)?;
    let mut signals = SignalsInfo::<WithOrigin>::new([SIGINT, SIGTERM, SIGHUP])?;
    let environment = variables.iter().map(|(name, value)| (name, value));
    let mut child = Command::new(program).args(arguments).envs(environment).spawn()?;
    let pid = rustix::process::Pid::from_child(&child);
    let handle = signals.handle();
    let passing_on = std::thread::spawn(move || {
        for origin in &mut signals {
            if is_for_us_alone(&origin)
                && let Some(signal) = rustix::process::Signal::from_named_raw(origin.signal)
            {
                // It may just have ended.
                rustix::process::kill_process(pid, signal).ok();
            }
        }
    });
    let status = child.wait();
    handle.close();
    passing_on.join().ok();
    Ok(Ending { status: status? })
}

/// Whether a process sent it: what the terminal sends goes to the whole group, and a launcher that hears
/// Ctrl-C twice ends its ranks at once instead of in order.
fn is_for_us_alone(origin: &Origin) -> bool {
    matches!(origin.cause, Cause::Sent(_) | Cause::Unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(script: &str, expected_code: u8) {
        let command = ["sh", "-c", script].map(OsString::from);
        let ending = run(&command, &[("A".to_owned(), "5".into())]).unwrap();
        assert_eq!(ending.code(), expected_code);
    }

    #[test]
    fn an_ending_has_the_code_that_a_shell_gives() {
        check("exit 0", 0);
        check("exit 7", 7);
        check("exit $A", 5);
        check("kill -9 $$", 137);
        check("kill -15 $$", 143);
    }

    #[test]
    fn a_command_that_is_not_there_is_told_apart() {
        let error = run(&["/nowhere/program".into()], &[]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
