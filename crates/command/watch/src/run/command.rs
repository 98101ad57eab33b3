//! Command of `sintonia run`: started with this process's input and output, sent its signals, and waited for.
//!
//! # Invariants
//! - Signals that this process ignored when it was started (`nohup`) are ignored by the command, too.
//! - If the system has no thread or file left for passing signals on, the command runs without.
//! - A signal that asks to end before the command was started keeps it from being started.
//! - A command that was started has an end, even if an unknown one: it is never mistaken for one that was not started.

use super::signals;
use crate::limits::is_ignored;
use crate::live::Watched;
use run_record::summary::CommandOutcome;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::iterator::{Handle, SignalsInfo};
use signal_hook::low_level::siginfo::{Cause, Origin};
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, LazyLock};
use std::thread::{Builder, JoinHandle};
use user_io::print::warn;

/// Whether a signal that asks to end has arrived while a command ran.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Signal that asked to end since [`heed_signals`]; 0 for none.
static ASKED_TO_END: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);

/// Signals that ask to end, and that this process did not ignore when it was started.
fn heeded() -> impl Iterator<Item = i32> {
    [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !is_ignored(*signal))
}

/// Keeps signals from ending this process while it makes what it has to remove again: [`RunningCommand::start`] fails then.
pub(crate) fn heed_signals() {
    for signal in heeded() {
        let number = usize::try_from(signal).unwrap_or_default();
        // If this fails, the signal ends this process, as it does by itself.
        signal_hook::flag::register_usize(signal, Arc::clone(&ASKED_TO_END), number).ok();
    }
}

/// Returns the exit code of a process that the signal ended which kept the command from being started; `None` without one.
pub(crate) fn code_of_stop() -> Option<u8> {
    let signal = ASKED_TO_END.load(Ordering::SeqCst);
    u8::try_from(signal).ok().filter(|signal| *signal != 0).map(|signal| 128 + signal)
}

/// Returns whether a signal asked the command to end.
pub(crate) fn was_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// End of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    /// `None` if the status is unknown.
    status: Option<ExitStatus>,
}

impl Ending {
    /// Exit code that shells would report.
    pub(crate) fn code(&self) -> u8 {
        let of = |status: ExitStatus| {
            status.code().or_else(|| status.signal().map(|signal| 128 + signal))
        };
        self.status.and_then(of).and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
    }

    /// Outcome for the record.
    pub(crate) fn outcome(&self) -> CommandOutcome {
        CommandOutcome {
            exit_code: self.status.and_then(|status| status.code()),
            signal: self.status.and_then(|status| status.signal()),
            complete: self.status.is_some(),
            ..CommandOutcome::default()
        }
    }
}

/// Destination of the command's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// That of this process.
    Ours,
    /// Pipes, with nothing typed to the command, since a view has the terminal.
    Piped,
}

/// Running command.
///
/// SIGINT, SIGTERM and SIGHUP no longer end this process: they are passed on, unless they came from the terminal, which
/// sends them to the command as well.
#[derive(Debug)]
pub(crate) struct RunningCommand {
    child: Child,
    forwarder: Option<SignalForwarder>,
}

impl RunningCommand {
    /// Starts `command` with `variables` set.
    ///
    /// # Errors
    /// Those of the system, and [`io::ErrorKind::Interrupted`] if a signal has asked to end.
    pub(crate) fn start(
        command: &[OsString],
        variables: &[(String, OsString)],
        output: Output,
    ) -> io::Result<Self> {
        let (program, arguments) = command.split_first().ok_or(io::ErrorKind::NotFound)?;
        let forwarder = SignalForwarder::prepare().ok();
        if code_of_stop().is_some() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let mut command = Command::new(program);
        command.args(arguments).envs(variables.iter().map(|(name, value)| (name, value)));
        if output == Output::Piped {
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            if io::stdin().is_terminal() {
                command.stdin(Stdio::null());
            }
        }
        signals::as_found(&mut command);
        let child = command.spawn()?;
        signals::command_runs(Pid::from_child(&child));
        forwarder.iter().for_each(|forwarder| forwarder.begin(Pid::from_child(&child)));
        Ok(Self { child, forwarder })
    }

    /// Reading ends of the command's pipes, for `Output::Piped`.
    pub(crate) fn take_pipes(&mut self) -> Option<(ChildStdout, ChildStderr)> {
        Some((self.child.stdout.take()?, self.child.stderr.take()?))
    }

    /// Waits for the command's end.
    pub(crate) fn wait(mut self) -> Ending {
        let status = self.child.wait();
        if let Err(error) = &status {
            warn(&format!("the command's exit status is unknown: {error}"));
        }
        let ending = Ending { status: status.ok() };
        signals::command_ended(ending.code());
        if let Some(forwarder) = self.forwarder {
            forwarder.end();
        }
        ending
    }
}

/// Thread that passes signals on to the command.
#[derive(Debug)]
struct SignalForwarder {
    signals: Handle,
    to: SyncSender<Pid>,
    thread: JoinHandle<()>,
}

impl SignalForwarder {
    /// Catches the signals, once a thread is there to pass them on.
    fn prepare() -> io::Result<Self> {
        let (hand_over, taken) = sync_channel(1);
        let (to, command) = sync_channel(1);
        let thread = Builder::new().name("signals".to_owned()).spawn(move || {
            if let Ok(signals) = taken.recv() {
                forward(signals, &command);
            }
        })?;
        let signals = SignalsInfo::<WithOrigin>::new(heeded())?;
        let handle = signals.handle();
        // The thread waits for the signals.
        hand_over.send(signals).ok();
        Ok(Self { signals: handle, to, thread })
    }

    /// Begins to pass signals on to the command.
    fn begin(&self, command: Pid) {
        self.to.send(command).ok();
    }

    fn end(self) {
        self.signals.close();
        self.thread.join().ok();
    }
}

fn forward(mut signals: SignalsInfo<WithOrigin>, command: &Receiver<Pid>) {
    let Ok(pid) = command.recv() else { return };
    let noted = signals.forever().inspect(|_| INTERRUPTED.store(true, Ordering::Relaxed));
    for origin in noted.filter(is_for_us_alone) {
        if let Some(signal) = Signal::from_named_raw(origin.signal) {
            // The command may just have ended.
            kill_process(pid, signal).ok();
        }
    }
}

impl Watched for RunningCommand {
    fn interrupt(&self) {
        // The command may just have ended.
        kill_process(Pid::from_child(&self.child), Signal::INT).ok();
    }

    fn has_ended(&mut self) -> bool {
        // An error shows in `wait`.
        let status = self.child.try_wait();
        if let Ok(Some(status)) = status {
            signals::command_ended(Ending { status: Some(status) }.code());
        }
        !matches!(status, Ok(None))
    }
}

/// Returns whether a process sent the signal to this process alone: the terminal sends signals to the whole group, and
/// a launcher that gets Ctrl-C twice ends its ranks at once instead of in order.
fn is_for_us_alone(origin: &Origin) -> bool {
    matches!(origin.cause, Cause::Sent(_) | Cause::Unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(script: &str, expected_code: u8) {
        let command = ["sh", "-c", script].map(OsString::from);
        let variables = [("A".to_owned(), "5".into())];
        let ending = RunningCommand::start(&command, &variables, Output::Ours).unwrap().wait();
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

    /// Such a command was taken for one that had not started, and its record was removed.
    #[test]
    fn an_end_that_the_system_does_not_tell_is_an_unknown_one() {
        let running = RunningCommand::start(&["true".into()], &[], Output::Ours).unwrap();
        let pid = Pid::from_child(&running.child);
        rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty()).unwrap();
        let ending = running.wait();
        assert_eq!((ending.code(), ending.outcome()), (u8::MAX, CommandOutcome::default()));
    }

    #[test]
    fn a_command_that_is_not_there_is_told_apart() {
        let error =
            RunningCommand::start(&["/nowhere/program".into()], &[], Output::Ours).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
