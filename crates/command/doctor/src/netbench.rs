//! `sintonia netbench`: measures how long messages take between the ranks of a launcher.
//!
//! The launcher starts this program again, as ranks that measure (`netbench-rank`). Rank 0 prints the result as one
//! line of JSON behind a mark, so that output of the launcher itself does not disturb it.
//!
//! # Not here
//! Measuring (`comm::netbench`), and fitting lines to the times (`models::network`).

mod plot;
pub mod rank;
mod table;

use anyhow::{Context, bail};
use clap::Args;
use models::network::Pair;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use user_io::result_file;
use user_io::terminal::Terminal;

/// Prefix of the result in the output of rank 0.
const MARK: &str = "sintonia-netbench ";
/// Time for a launcher to end its ranks.
const GRACE: Duration = Duration::from_secs(2);

const EXAMPLES: &str = "\
Examples:
  sintonia netbench -- mpirun -np 2
  sintonia netbench --seconds 5 -- mpirun -np 4 --host a:2,b:2
  sintonia netbench --json -- srun -n 8 > network.json
  sintonia netbench --plot network.svg -- mpirun -np 2

When the ranks lie on several nodes, messages inside a node and between nodes are told apart, by `place` in the JSON.
A time is that of one message, half of a round trip. What stands behind `+-` is half of the interval
that holds the true value with 95 percent. A master/worker program begins with what was measured
when it is run with `--network network.json`.";

/// Measure latency and cost per byte between the ranks of a launcher
///
/// Times messages of 0 bytes to 4 MiB between rank 0 and each of the others, and between two ranks of each further
/// node, and fits lines to the medians, one for each protocol of the library (short messages are copied, long ones are
/// announced first).
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Time for each pair of ranks
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, allow_negative_numbers = true, value_parser = seconds)]
    seconds: f64,
    /// Time after which the measurement is given up
    #[arg(long, value_name = "SECONDS", default_value_t = 120.0, allow_negative_numbers = true, value_parser = seconds)]
    at_most: f64,
    /// Print the times and the lines as JSON
    #[arg(long)]
    json: bool,
    /// Write a picture of the times and the lines
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Launcher with its options, without a program
    #[arg(required = true, last = true, value_name = "LAUNCHER")]
    launcher: Vec<OsString>,
}

/// Parses a time, in s, that users may reasonably wait.
fn seconds(text: &str) -> Result<f64, String> {
    let time_s = text.parse().ok().filter(|time_s| (1e-3..=1e5).contains(time_s));
    time_s.ok_or_else(|| "write a number from 0.001 to 100000".to_owned())
}

/// Measures and shows the result.
pub fn run(options: &Options, _: Terminal) -> anyhow::Result<ExitCode> {
    let output = ranks(options)?;
    let Some(line) = output.lines().find_map(|line| Some(line.split_once(MARK)?.1)) else {
        bail!("the ranks printed no result; the messages above say why");
    };
    let pairs: Vec<Pair> = serde_json::from_str(line).context("the result of rank 0 is damaged")?;
    if let Some(path) = &options.plot {
        result_file::write(path, &plot::picture(&pairs))?;
    }
    let text = if options.json {
        format!("{:#}\n", serde_json::to_value(&pairs)?)
    } else {
        table::table(&pairs)
    };
    user_io::print::result(&text)
}

/// Starts the ranks; returns what they print.
fn ranks(options: &Options) -> anyhow::Result<String> {
    let own = std::env::current_exe().context("the path of this program is unknown")?;
    let (launcher, words) = options.launcher.split_first().context("a launcher is missing")?;
    let mut command = Command::new(launcher);
    command.args(words).arg(own).args(["netbench-rank", "--seconds", &options.seconds.to_string()]);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let name = launcher.to_string_lossy();
    let mut child = command.spawn().with_context(|| format!("cannot start `{name}`"))?;
    let output = match reader(&mut child) {
        Ok(output) => output,
        Err(error) => {
            end(&mut child)?;
            return Err(error).context("no thread can be started; see `ulimit -u`");
        }
    };
    let at_most =
        Duration::try_from_secs_f64(options.at_most).context("`--at-most` is out of range")?;
    let Ok(output) = output.recv_timeout(at_most) else {
        // On `SIGTERM` a launcher ends its ranks.
        end(&mut child)?;
        bail!("the ranks did not end within {} s; allow more with `--at-most`", options.at_most);
    };
    let status = child.wait().with_context(|| format!("`{name}` cannot be waited for"))?;
    if !status.success() {
        bail!("`{name}` ended with {status}; its messages above say why");
    }
    Ok(output)
}

/// Reads everything that the child prints, until it closes its output.
fn reader(child: &mut Child) -> std::io::Result<Receiver<String>> {
    let (tell, output) = channel();
    if let Some(mut pipe) = child.stdout.take() {
        let read = move || {
            let mut bytes = Vec::new();
            if pipe.read_to_end(&mut bytes).is_ok() {
                // After the time limit the receiver is gone.
                tell.send(String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
            }
        };
        std::thread::Builder::new().name("output".to_owned()).spawn(read)?;
    }
    Ok(output)
}

/// Sends `SIGTERM` to the launcher, and kills it if it goes on.
fn end(child: &mut Child) -> anyhow::Result<()> {
    kill_process(Pid::from_child(child), Signal::TERM)?;
    if timed_command::wait(child, GRACE)?.is_none() {
        child.kill()?;
        child.wait()?;
    }
    Ok(())
}
