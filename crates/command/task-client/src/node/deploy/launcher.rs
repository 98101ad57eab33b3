//! Runs scripts on hosts, by `ssh` or another command.

use super::script::{Outcome, Reply, Script, copy_command};
use std::env;
use std::fs;
use std::process::Command;
use std::time::Duration;
use timed_command::{EndedCommand, run_with_input};
use user_io::exit::bad_option;

/// Variable that names the launcher.
const VARIABLE: &str = "SINTONIA_SSH";
/// Launcher without a setting: asks for no password, and does not wait for a host that is off.
const SSH: &str = "ssh -o BatchMode=yes -o ConnectTimeout=10";
/// Longest time for a host to do as it was told: a daemon may read a long journal, or wait for its tasks.
const DONE_WITHIN: Duration = Duration::from_secs(150);

/// Command that reaches hosts.
pub(super) struct Launcher {
    words: Vec<String>,
}

impl Launcher {
    /// Launcher that is named, or that of the environment, or `ssh`.
    pub(super) fn new(named: Option<&str>) -> anyhow::Result<Self> {
        let named = named.map(str::to_owned).or_else(|| env::var(VARIABLE).ok());
        let words = named.as_deref().unwrap_or(SSH).split_whitespace();
        let words: Vec<String> = words.map(str::to_owned).collect();
        match words.is_empty() {
            true => Err(bad_option("`--ssh` and `SINTONIA_SSH` name a command: `ssh -p 2222`")),
            false => Ok(Self { words }),
        }
    }

    /// Does on a host what the script says; copies the program there if that is wanted and needed.
    pub(super) fn deploy(&self, host: &str, script: &Script, copies: bool) -> Outcome {
        let reply = self.tell(host, script);
        if !(copies && reply.needs_program) {
            return reply.outcome;
        }
        match self.copy(host) {
            Ok(()) => self.tell(host, script).outcome,
            Err(why) => Outcome::Failed(why),
        }
    }

    fn tell(&self, host: &str, script: &Script) -> Reply {
        match self.run(host, "sh -s", script.text().into()) {
            Ok(ended) => Reply::read(&ended),
            Err(why) => Reply { outcome: Outcome::Failed(why), needs_program: false },
        }
    }

    fn copy(&self, host: &str) -> Result<(), String> {
        let program = fs::read("/proc/self/exe");
        let program = program.map_err(|error| format!("this program cannot be read: {error}"))?;
        let ended = self.run(host, &copy_command(), program)?;
        let failed = || format!("the program cannot be copied: {}", ended.complaint());
        ended.status.success().then_some(()).ok_or_else(failed)
    }

    /// Runs a command on a host. It must mean the same to all shells, since a user may have any.
    fn run(&self, host: &str, command: &str, input: Vec<u8>) -> Result<EndedCommand, String> {
        let mut line = Command::new(&self.words[0]);
        line.args(&self.words[1..]).args([host, command]);
        let ended = run_with_input(&mut line, input, DONE_WITHIN);
        ended.map_err(|error| format!("`{}` {error}", self.words[0]))
    }
}
