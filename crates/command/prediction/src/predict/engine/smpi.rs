//! Replays the trace by SimGrid, on a platform with the same network.
//!
//! Each rank has a host of its own. The time of a single message is that of the machine: the link of a host has half
//! the latency, and factors by length follow the machine's lines. Corrections for TCP are switched off, and collectives
//! use MPICH's algorithms where SimGrid 3.32 replays them without a crash.

use super::Input;
use anyhow::{Context, bail};
use models::network::LinearPiece;
use program_graph::compose::Machine;
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use user_io::bounded_read;
use user_io::print::indented_end;

/// Lines of the replay's output that an error shows.
const N_LINES_MAX: usize = 5;
/// Algorithms of collectives. Those of MPICH for bcast, reduce and allreduce end a replay with an invalid `free`.
const ALGORITHMS: &str =
    "barrier:mpich gather:mpich scatter:mpich allgather:mpich alltoall:mpich allreduce:rdb";

/// Result of a replay.
pub(super) struct Replay {
    pub(super) total_s: f64,
    /// Time that the replay took.
    pub(super) took_s: f64,
}

/// Writes the platform beside the trace and replays it.
pub(super) fn replay(input: &Input, machine: &Machine, at_most_s: f64) -> anyhow::Result<Replay> {
    let n_ranks = input.program.n_ranks();
    let write = |name: &str, text: String| {
        let path = input.scratch.join(name);
        fs::write(&path, text).with_context(|| format!("`{}` cannot be written", path.display()))
    };
    write("platform.xml", platform(machine, n_ranks, input.flops_per_s))?;
    let hosts = (0..n_ranks).map(|rank| format!("node-{rank}\n")).collect();
    write("hostfile", hosts)?;
    let began = Instant::now();
    let output = run(input, machine, Duration::from_secs_f64(at_most_s))?;
    let took_s = began.elapsed().as_secs_f64();
    let time_s = output
        .rsplit_once("Simulation time ")
        .and_then(|(_, rest)| rest.split_whitespace().next()?.parse().ok());
    let total_s = time_s.with_context(|| {
        format!("`smpirun` printed no time; its last lines:{}", indented_end(&output, N_LINES_MAX))
    })?;
    Ok(Replay { total_s, took_s })
}

fn platform(machine: &Machine, n_ranks: usize, flops_per_s: f64) -> String {
    let base = base(machine);
    let speed = flops_per_s * machine.speed_of(n_ranks);
    let bytes_per_s = 1.0 / base.s_per_byte;
    let (last, half_s) = (n_ranks.saturating_sub(1), base.latency_s / 2.0);
    // Every rank has a host of its own, so the loopback carries messages of a rank to itself: copies.
    let copied_per_s = 1.0 / machine.copy_s_per_byte.max(1e-15);
    format!(
        r#"<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="cluster" prefix="node-" suffix="" radical="0-{last}" speed="{speed}f"
           bw="{bytes_per_s}Bps" lat="{half_s}s" loopback_bw="{copied_per_s}Bps" loopback_lat="1ns"/>
</platform>
"#
    )
}

/// Line of the longest messages; SimGrid does not accept a network without latency or without cost per byte.
fn base(machine: &Machine) -> LinearPiece {
    let last = machine.network.lines().last();
    let last = last.copied().unwrap_or(LinearPiece::exact(0, 0.0, 0.0));
    let (latency_s, s_per_byte) = (last.latency_s.max(1e-12), last.s_per_byte.max(1e-15));
    LinearPiece { latency_s, s_per_byte, ..last }
}

/// Factors by length of the platform's bandwidth and latency.
fn factors(machine: &Machine) -> [String; 2] {
    let base = base(machine);
    let by_length = |factor: &dyn Fn(&LinearPiece) -> f64| {
        let lines = machine.network.lines().iter();
        let factors = lines.map(|line| format!("{}:{}", line.from_bytes, factor(line)));
        factors.collect::<Vec<_>>().join(";")
    };
    let bandwidth = by_length(&|line| base.s_per_byte / line.s_per_byte.max(1e-15));
    let latency = by_length(&|line| line.latency_s / base.latency_s);
    [format!("--cfg=smpi/bw-factor:{bandwidth}"), format!("--cfg=smpi/lat-factor:{latency}")]
}

fn run(input: &Input, machine: &Machine, at_most: Duration) -> anyhow::Result<String> {
    let program = std::env::var_os("SMPIRUN").unwrap_or_else(|| "smpirun".into());
    // The replay runs in the folder of the trace, since the names of its files are relative to that.
    let scratch = input.scratch.canonicalize()?;
    let path = scratch.join("smpirun.log");
    let log = File::create(&path).with_context(|| format!("`{}`", path.display()))?;
    let mut command = Command::new(&program);
    command.current_dir(&input.dir).args(["-np", &input.program.n_ranks().to_string()]);
    command.arg("-platform").arg(scratch.join("platform.xml"));
    command.arg("-hostfile").arg(scratch.join("hostfile"));
    command.args(["--cfg=network/crosstraffic:0", "--cfg=network/TCP-gamma:0"]);
    command.args(["--cfg=network/weight-S:0"]).args(factors(machine));
    let eager_bytes = machine.network.eager_bytes.min(u64::from(u32::MAX >> 1));
    command.arg(format!("--cfg=smpi/send-is-detached-thresh:{eager_bytes}"));
    command.args(ALGORITHMS.split(' ').map(|algorithm| format!("--cfg=smpi/{algorithm}")));
    command.args(["-replay", "trace.txt"]);
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).process_group(0);
    let name = program.to_string_lossy().into_owned();
    let mut child = command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => anyhow::anyhow!(
            "`{name}` is not installed: it is part of SimGrid, on Debian and Ubuntu in the package `libsimgrid-dev`; \
             `--engine composed` needs nothing"
        ),
        _ => anyhow::Error::new(error).context(format!("cannot start `{name}`")),
    })?;
    let status = timed_command::wait(&mut child, at_most)?;
    if status.is_none() {
        // The processes that it started are in its group.
        kill_process_group(Pid::from_child(&child), Signal::KILL)?;
        child.wait()?;
    }
    let output = String::from_utf8_lossy(&bounded_read::read_end(&path)?).into_owned();
    match status {
        None => bail!(
            "`{name}` did not end within {} s; allow more with `--at-most`",
            at_most.as_secs_f64()
        ),
        Some(status) if !status.success() => {
            bail!(
                "`{name}` ended with {status}; its last lines:{}",
                indented_end(&output, N_LINES_MAX)
            )
        }
        Some(_) => Ok(output),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_make_the_lines_of_the_machine() {
        let text = "latency_us = 2\nper_byte_ns = 4\n\
            [[line]]\nfrom_bytes = 4096\nlatency_us = 8\nper_byte_ns = 1\n";
        let machine = Machine::read(text).unwrap();
        let [bandwidth, latency] = factors(&machine);
        assert_eq!(bandwidth, "--cfg=smpi/bw-factor:0:0.25;4096:1");
        assert_eq!(latency, "--cfg=smpi/lat-factor:0:0.25;4096:1");
        let platform = platform(&machine, 4, 1e9);
        assert!(platform.contains(r#"radical="0-3" speed="1000000000f""#), "{platform}");
        assert!(platform.contains(r#"lat="0.000004s""#), "{platform}");
    }

    #[test]
    fn a_network_without_time_is_one_with_hardly_any() {
        let machine = Machine::named("ideal").unwrap();
        assert!(!platform(&machine, 2, 1e9).contains("inf"));
        assert!(!factors(&machine).concat().contains("NaN"));
    }
}
