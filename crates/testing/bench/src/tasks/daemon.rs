//! Daemon of a single node, with a journal on disk, and the processor time of its threads.

use crate::build_paths::BuildPaths;
use crate::error::BenchError;
use crate::sample;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longest time until a daemon answers, in s.
const ANSWERS_WITHIN_S: u64 = 30;

/// Running daemon; ends with this value.
#[derive(Debug)]
pub(super) struct Daemon {
    sintonia: PathBuf,
    state: PathBuf,
    process: Child,
}

/// Processor time of a daemon.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cpu {
    /// Time of all threads, in s.
    pub(super) all_s: f64,
    /// Time of the first thread, which decides, in s.
    pub(super) thinking_s: f64,
}

impl Cpu {
    pub(super) fn since(self, before: Self) -> Self {
        Self { all_s: self.all_s - before.all_s, thinking_s: self.thinking_s - before.thinking_s }
    }
}

impl Daemon {
    pub(super) fn start(paths: &BuildPaths) -> Result<Self, BenchError> {
        let sintonia = paths.sintonia.clone();
        let sintonia =
            sintonia.ok_or_else(|| BenchError::NotBuilt(paths.probe.with_file_name("sintonia")))?;
        let state = paths.scratch().join("node");
        // An earlier run may have left a folder; mostly there is none.
        let _state = std::fs::remove_dir_all(&state);
        let mut command = Command::new(&sintonia);
        command.args(["node", "start", "--name", "bench", "--speed", "1", "--state"]).arg(&state);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let name = sample::name_of(&command);
        let process = command.spawn();
        let process =
            process.map_err(|source| BenchError::Start { command: name.clone(), source })?;
        let daemon = Self { sintonia, state, process };
        let deadline = Instant::now() + Duration::from_secs(ANSWERS_WITHIN_S);
        while sample::take(daemon.client("nodes")).is_err() {
            if deadline < Instant::now() {
                return Err(BenchError::Late { command: name, limit_s: ANSWERS_WITHIN_S });
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(daemon)
    }

    /// Runs an array of empty tasks to its end; returns the time that took, in s.
    pub(super) fn run(&self, n_tasks: u32) -> Result<f64, BenchError> {
        let mut command = self.client("submit");
        command.args(["--wait", "--quiet", "--array", &format!("1-{n_tasks}"), "--", "true"]);
        Ok(sample::take(command)?.elapsed_s)
    }

    /// Processor time used since the daemon started.
    pub(super) fn cpu(&self) -> Cpu {
        let process = PathBuf::from(format!("/proc/{}", self.process.id()));
        let thinking = process.join("task").join(self.process.id().to_string());
        Cpu { all_s: seconds(&process), thinking_s: seconds(&thinking) }
    }

    fn client(&self, command: &str) -> Command {
        let mut client = Command::new(&self.sintonia);
        client.args([command, "--node"]).arg(&self.state);
        client
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let mut stop = Command::new(&self.sintonia);
        stop.args(["node", "stop", "--now", "--state"]).arg(&self.state);
        if sample::take(stop).is_err() {
            // The daemon does not answer; when it is killed, its keeper ends by itself soon.
            let _ended = self.process.kill();
        }
        let _status = self.process.wait();
    }
}

/// Processor time of a process or thread, in s, from `stat` in its folder in `/proc` (in hundredths).
fn seconds(folder: &Path) -> f64 {
    let text = std::fs::read_to_string(folder.join("stat")).unwrap_or_default();
    seconds_in(&text)
}

/// Parses fields 14 and 15 of proc(5), utime and stime; the third field is the first one after the name.
fn seconds_in(text: &str) -> f64 {
    let after_name = text.rsplit(')').next().unwrap_or_default();
    let fields = after_name.split_whitespace().skip(11).take(2);
    fields.filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / 100.0
}

#[cfg(test)]
mod tests {
    use super::seconds_in;

    #[test]
    fn processor_time_is_what_the_user_and_the_system_part_took() {
        let text = "42 (a) b) S 1 42 42 0 -1 4194304 100 0 0 0 150 50 7 8 20 0 5 0 100 0";
        assert!((seconds_in(text) - 2.0).abs() < 1e-9);
        assert!(seconds_in("").abs() < 1e-9);
    }
}
