//! Measures how many empty tasks a node runs per second, from `sintonia submit --array 1-N --wait -- true` to its end,
//! beside HyperQueue, `xargs -P2 -n1`, and starting them one at a time.

use crate::build_paths::BuildPaths;
use crate::error::BenchError;
use crate::median;
use crate::table::{self, verdict};
use crate::{Report, sample};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Number of tasks in a turn.
const N_TASKS: u32 = 5000;
/// Fewest tasks per second, from end to end, that a node must run.
const PER_S_MIN: f64 = 1500.0;
/// Most time for the decisions about a task, in us.
const DECIDING_US_MAX: f64 = 20.0;
/// Number of tasks that are decided about in memory, to time that.
const N_DECIDED: &str = "20000";
const OURS: &str = "sintonia submit";

/// Tasks per second in one way, a figure for each turn.
#[derive(Debug)]
struct Method {
    name: &'static str,
    per_s: Vec<f64>,
}

/// Processor time per task, in us, a figure for each turn.
#[derive(Debug, Default)]
struct Costs {
    daemon_us: Vec<f64>,
    /// Time of the thread that decides, passes records to the journal, and answers clients and nodes.
    thread_us: Vec<f64>,
    /// Time of deciding alone.
    deciding_us: Vec<f64>,
}

/// Runs the same tasks in every way, one way after another.
pub(crate) fn measure(paths: &BuildPaths, n_turns: usize) -> Result<Report, BenchError> {
    let daemon = Daemon::start(paths)?;
    let hyperqueue = hyperqueue(paths);
    let mut names = vec![OURS, "xargs -P2 -n1", "one at a time"];
    names.extend(hyperqueue.iter().map(|_| "HyperQueue"));
    let mut methods: Vec<Method> =
        names.into_iter().map(|name| Method { name, per_s: Vec::new() }).collect();
    let mut costs = Costs::default();
    // Warms the caches.
    daemon.run(N_TASKS / 10)?;
    for _ in 0..n_turns {
        costs.deciding_us.push(deciding_us(paths)?);
        for method in &mut methods {
            method.per_s.push(match method.name {
                OURS => ours(&daemon, &mut costs)?,
                "xargs -P2 -n1" => xargs()?,
                "one at a time" => one_at_a_time()?,
                _ => hyperqueue.as_ref().map_or(Ok(0.0), |python| peer(paths, python))?,
            });
        }
    }
    Ok(report(&methods, &costs))
}

fn report(methods: &[Method], costs: &Costs) -> Report {
    let medians: Vec<f64> =
        methods.iter().map(|method| median(method.per_s.iter().copied())).collect();
    let ours = medians.first().copied().unwrap_or(0.0);
    let rows = methods.iter().zip(&medians).map(|(method, per_s)| {
        let is_ours = method.name == OURS;
        let bar = format!("{PER_S_MIN:.0} {}", verdict(Some(PER_S_MIN <= *per_s)));
        let bar = if is_ours { bar } else { String::new() };
        let ratio = format!("{:.2}", ours / per_s);
        vec![method.name.to_owned(), String::new(), format!("{per_s:.0}"), ratio, bar]
    });
    let header = ["way", "", "tasks/s", "sintonia's ratio to it", "bar"];
    let mut text = format!("Tasks: `true` {N_TASKS} times on one node, from end to end\n");
    text += &table::render(&header, &rows.collect::<Vec<_>>());
    let [daemon_us, thread_us, deciding_us] =
        [&costs.daemon_us, &costs.thread_us, &costs.deciding_us]
            .map(|us| median(us.iter().copied()));
    let is_cheap = deciding_us <= DECIDING_US_MAX;
    text += &format!(
        "Processor time of the daemon for a task: {daemon_us:.1} us, {thread_us:.1} us of it in the thread that decides; \
         deciding alone takes {deciding_us:.1} us (bar {DECIDING_US_MAX} us {}).\n",
        verdict(Some(is_cheap))
    );
    let figures =
        methods.iter().map(|method| json!({ "way": method.name, "tasks_per_s": method.per_s }));
    let json = json!({ "n_tasks": N_TASKS, "ways": figures.collect::<Vec<_>>(),
        "daemon_us_per_task": costs.daemon_us, "thread_us_per_task": costs.thread_us,
        "deciding_us_per_task": costs.deciding_us });
    Report { text, json, bars_met: is_cheap && PER_S_MIN <= ours }
}

fn ours(daemon: &Daemon, costs: &mut Costs) -> Result<f64, BenchError> {
    let before = daemon.cpu();
    let elapsed_s = daemon.run(N_TASKS)?;
    let Cpu { all_s, thinking_s } = daemon.cpu().since(before);
    costs.daemon_us.push(1e6 * all_s / f64::from(N_TASKS));
    costs.thread_us.push(1e6 * thinking_s / f64::from(N_TASKS));
    Ok(f64::from(N_TASKS) / elapsed_s)
}

/// Time that a single node needs to decide about a task from its submission to its end, without processes and files.
fn deciding_us(paths: &BuildPaths) -> Result<f64, BenchError> {
    let mut command = Command::new(paths.built("examples/think")?);
    command.arg(N_DECIDED);
    Ok(sample::figure(command, nanoseconds_in)? / 1e3)
}

/// Parses `...: FIGURE ns for each`.
fn nanoseconds_in(output: &str) -> Option<f64> {
    let line = output.lines().find_map(|line| line.strip_suffix(" ns for each"))?;
    line.rsplit(' ').next()?.parse().ok()
}

fn xargs() -> Result<f64, BenchError> {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("seq {N_TASKS} | xargs -P2 -n1 true")]);
    Ok(f64::from(N_TASKS) / sample::take(command)?.elapsed_s)
}

fn one_at_a_time() -> Result<f64, BenchError> {
    let began = Instant::now();
    for _ in 0..N_TASKS {
        let mut command = Command::new("true");
        let ended = command.stdin(Stdio::null()).stdout(Stdio::null()).status();
        ended.map_err(|source| BenchError::Start { command: "true".to_owned(), source })?;
    }
    Ok(f64::from(N_TASKS) / began.elapsed().as_secs_f64())
}

/// Python interpreter for which `scripts/setup.sh bench` has installed HyperQueue.
fn hyperqueue(paths: &BuildPaths) -> Option<PathBuf> {
    Some(paths.root.join("target/venv-hyperqueue/bin/python")).filter(|path| path.exists())
}

fn peer(paths: &BuildPaths, python: &PathBuf) -> Result<f64, BenchError> {
    let n_cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut command = Command::new(python);
    command.arg(paths.source("hyperqueue_tasks.py"));
    command.args([N_TASKS.to_string(), n_cores.to_string()]);
    sample::figure(command, figure_in)
}

/// Parses `FIGURE tasks per second`.
fn figure_in(output: &str) -> Option<f64> {
    output.lines().find_map(|line| line.split_once(" tasks per second")?.0.parse().ok())
}

/// Longest time until a daemon answers, in s.
const ANSWERS_WITHIN_S: u64 = 30;

/// Running daemon; ends with this value.
#[derive(Debug)]
struct Daemon {
    sintonia: PathBuf,
    state: PathBuf,
    process: Child,
}

/// Processor time of a daemon.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cpu {
    /// Time of all threads, in s.
    all_s: f64,
    /// Time of the first thread, which decides, in s.
    thinking_s: f64,
}

impl Cpu {
    fn since(self, before: Self) -> Self {
        Self { all_s: self.all_s - before.all_s, thinking_s: self.thinking_s - before.thinking_s }
    }
}

impl Daemon {
    fn start(paths: &BuildPaths) -> Result<Self, BenchError> {
        let sintonia = paths.built("sintonia")?;
        let state = paths.scratch().join("node");
        // An earlier run may have left a folder; mostly there is none.
        let _state = std::fs::remove_dir_all(&state);
        let mut command = Command::new(&sintonia);
        command.args(["node", "start", "--name", "bench", "--speed", "1", "--state"]).arg(&state);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let name = sample::name_of(&command);
        let failed = |source| BenchError::Start { command: name.clone(), source };
        let process = command.spawn().map_err(failed)?;
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
    fn run(&self, n_tasks: u32) -> Result<f64, BenchError> {
        let mut command = self.client("submit");
        command.args(["--wait", "--quiet", "--array", &format!("1-{n_tasks}"), "--", "true"]);
        Ok(sample::take(command)?.elapsed_s)
    }

    /// Processor time used since the daemon started.
    fn cpu(&self) -> Cpu {
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

/// Processor time of a process or thread, in s, from its folder in `/proc`: fields 14 and 15 of proc(5), utime and stime.
fn seconds(folder: &Path) -> f64 {
    let stat = std::fs::read_to_string(folder.join("stat")).unwrap_or_default();
    sample::cpu_s_in(&stat, 14)
}

#[cfg(test)]
mod tests {
    use super::{Costs, Method, OURS, figure_in, nanoseconds_in, report};
    use crate::sample::cpu_s_in;

    #[test]
    fn a_figure_stands_in_a_line_of_its_own() {
        assert_eq!(figure_in("| Pid | 7 |\n891 tasks per second\n"), Some(891.0));
        assert_eq!(figure_in("tasks per second\n"), None);
        let said = "9 tasks ended, 9 told: 1500 ns for each\n7 bytes\n";
        assert_eq!(nanoseconds_in(said), Some(1500.0));
        assert_eq!(nanoseconds_in("7 bytes of journal\n"), None);
    }

    #[track_caller]
    fn check(per_s: f64, deciding_us: f64, expected: bool) {
        let methods = [OURS, "HyperQueue"].map(|name| Method { name, per_s: vec![per_s] });
        let costs =
            Costs { daemon_us: vec![90.0], thread_us: vec![40.0], deciding_us: vec![deciding_us] };
        assert_eq!(report(&methods, &costs).bars_met, expected);
    }

    #[test]
    fn both_bars_count() {
        check(1500.0, 20.0, true);
        check(1499.0, 20.0, false);
        check(1500.0, 20.1, false);
    }

    #[test]
    fn processor_time_is_what_the_user_and_the_system_part_took() {
        let text = "42 (a) b) S 1 42 42 0 -1 4194304 100 0 0 0 150 50 7 8 20 0 5 0 100 0";
        assert!((cpu_s_in(text, 14) - 2.0).abs() < 1e-9);
        assert!(cpu_s_in("", 14).abs() < 1e-9);
    }
}
