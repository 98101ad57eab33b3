//! Times the evaluation of large runs: our composition beside SimGrid's replay of the same trace on the same network.
//!
//! # Not here
//! The evaluations: `program_graph::compose`, and `predict/engine` of the command line.

use crate::Report;
use crate::build_paths::{BuildPaths, make_folder};
use crate::error::BenchError;
use crate::median;
use crate::sample;
use crate::table::{self, verdict};
use serde_json::{Value, json};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Most time to evaluate a run of 1024 ranks, including reading its trace, in s.
const BAR_S: f64 = 1.0;
/// Time after which SimGrid is given up, in s.
const AT_MOST_S: &str = "120";
/// Machine of both, as a description of its network.
const MACHINE: &str = "latency_us = 10\nper_byte_ns = 0.8\neager_bytes = 65536\n";

/// Program whose ranks all do the same.
#[derive(Clone, Copy, Debug)]
struct Case {
    name: &'static str,
    /// Number of ranks on a side of the square of ranks.
    side: u32,
    n_times: u32,
    /// Lines of a rank in each iteration.
    lines: fn(u32, u32) -> String,
    /// True if SimGrid replays it, too.
    is_replayed: bool,
}

const CASES: [Case; 4] = [
    Case { name: "stencil", side: 32, n_times: 20, lines: stencil, is_replayed: true },
    Case { name: "alltoall", side: 8, n_times: 20, lines: alltoall, is_replayed: true },
    Case { name: "alltoall", side: 16, n_times: 20, lines: alltoall, is_replayed: true },
    Case { name: "alltoall", side: 32, n_times: 20, lines: alltoall, is_replayed: false },
];

/// Result of one evaluation.
#[derive(Clone, Copy, Debug, Default)]
struct Evaluation {
    took_s: f64,
    total_s: f64,
}

/// Evaluates and replays every case.
pub(crate) fn measure(paths: &BuildPaths, n_turns: usize) -> Result<Report, BenchError> {
    let mut text =
        "Composing: seconds to evaluate a run, 20 iterations, its trace read included\n".to_owned();
    let sintonia = paths.built("sintonia")?;
    let (mut rows, mut json, mut bars_met) = (Vec::new(), Vec::new(), true);
    let mut notes = String::new();
    for case in &CASES {
        let dir = written(paths, case)?;
        let ours = composed(&sintonia, &dir, n_turns)?;
        // The time of a replay differs so much from ours that a single one is enough.
        let peer = match case.is_replayed.then(|| said(&sintonia, &dir, "smpi")).transpose() {
            Ok(peer) => peer,
            Err(error) => {
                writeln!(notes, "{} on {} ranks: {error}", case.name, case.n_ranks()).ok();
                None
            }
        };
        bars_met &= case.is_met(ours) != Some(false);
        rows.push(row(case, ours, peer));
        json.push(json!({ "program": case.name, "ranks": case.n_ranks(),
            "composed_s": ours.took_s, "predicted_s": ours.total_s,
            "simgrid_s": peer.map(|peer| peer.took_s),
            "predicted_by_simgrid_s": peer.map(|peer| peer.total_s) }));
        fs::remove_dir_all(&dir).map_err(BenchError::file(&dir))?;
    }
    let header =
        ["program", "ranks", "SimGrid", "ours", "ratio", "predicted", "by SimGrid", "apart", "bar"];
    text += &(table::render(&header, &rows) + &notes);
    Ok(Report { text, json: json.into(), bars_met })
}

fn row(case: &Case, ours: Evaluation, peer: Option<Evaluation>) -> Vec<String> {
    let of_peer = |text: &dyn Fn(Evaluation) -> String| peer.map_or_else(String::new, text);
    let bar = case.is_met(ours).map(|is_met| format!("{BAR_S} s {}", verdict(Some(is_met))));
    vec![
        case.name.to_owned(),
        case.n_ranks().to_string(),
        of_peer(&|peer| format!("{:.2}", peer.took_s)),
        format!("{:.3}", ours.took_s),
        of_peer(&|peer| format!("{:.0}", peer.took_s / ours.took_s)),
        format!("{:.5}", ours.total_s),
        of_peer(&|peer| format!("{:.5}", peer.total_s)),
        of_peer(&|peer| format!("{:+.2} %", 100.0 * (ours.total_s / peer.total_s - 1.0))),
        bar.unwrap_or_default(),
    ]
}

/// Median of the turns.
fn composed(sintonia: &Path, dir: &Path, n_turns: usize) -> Result<Evaluation, BenchError> {
    let mut times_s = Vec::new();
    let mut total_s = 0.0;
    for _ in 0..n_turns {
        let said = said(sintonia, dir, "composed")?;
        times_s.push(said.took_s);
        total_s = said.total_s;
    }
    Ok(Evaluation { took_s: median(times_s), total_s })
}

fn said(sintonia: &Path, dir: &Path, engine: &str) -> Result<Evaluation, BenchError> {
    let mut command = Command::new(sintonia);
    command.arg("predict").arg(dir).args(["--engine", engine, "--json", "--at-most", AT_MOST_S]);
    command.arg("--machine").arg(dir.join("machine.toml"));
    let name = sample::name_of(&command);
    let sample = sample::take(command)?;
    let mut values = serde_json::Deserializer::from_str(&sample.output).into_iter::<Value>();
    let value = values.next().and_then(Result::ok);
    let engines = value.as_ref().map(|value| &value["engines"][engine]);
    let number = |key: &str| engines.and_then(|engines| engines[key].as_f64());
    let took_s = number("replay_s").unwrap_or(sample.elapsed_s);
    let output = sample::last_lines(&sample.output);
    let total_s = number("value").ok_or(BenchError::NoFigure { command: name, output })?;
    Ok(Evaluation { took_s, total_s })
}

/// Writes the trace of all ranks, and the machine; returns their folder.
fn written(paths: &BuildPaths, case: &Case) -> Result<PathBuf, BenchError> {
    let dir = paths.scratch().join(format!("{}-{}", case.name, case.n_ranks()));
    let write = |name: &str, text: &str| {
        let path = dir.join(name);
        fs::write(&path, text).map_err(BenchError::file(&path))
    };
    make_folder(&dir)?;
    let mut index = String::new();
    for rank in 0..case.n_ranks() {
        let once = (case.lines)(rank, case.side);
        let all = once.repeat(case.n_times as usize);
        write(&format!("rank-{rank}.txt"), &format!("{rank} init\n{all}{rank} finalize\n"))?;
        writeln!(index, "rank-{rank}.txt").ok();
    }
    write("trace.txt", &index)?;
    write("machine.toml", MACHINE)?;
    Ok(dir)
}

impl Case {
    fn n_ranks(&self) -> u32 {
        self.side * self.side
    }

    /// Returns whether our time meets the bar, where there is one.
    fn is_met(&self, ours: Evaluation) -> Option<bool> {
        (self.n_ranks() == 1024).then_some(ours.took_s <= BAR_S)
    }
}

/// Stencil: four neighbors on a torus, 8 KiB to each of them, then an allreduce of one number.
fn stencil(rank: u32, side: u32) -> String {
    let (x, y) = (rank % side, rank / side);
    let (right, left) = ((x + 1) % side, (x + side - 1) % side);
    let (down, up) = ((y + 1) % side, (y + side - 1) % side);
    let neighbors = [y * side + right, y * side + left, down * side + x, up * side + x];
    let each = |line: &dyn Fn(u32) -> String| neighbors.map(line).concat();
    let flops = 1_000_000 + rank * 7919 % 1000 * 100;
    each(&|other| format!("{rank} irecv {other} 0 8192\n"))
        + &each(&|other| format!("{rank} isend {other} 0 8192\n"))
        + &each(&|other| format!("{rank} wait {other} {rank} 0\n"))
        + &each(&|other| format!("{rank} wait {rank} {other} 0\n"))
        + &format!("{rank} compute {flops}\n{rank} allreduce 8 0\n")
}

/// A millisecond of computation, then 64 KiB to every rank.
fn alltoall(rank: u32, _side: u32) -> String {
    format!("{rank} compute 1000000\n{rank} alltoall 65536 65536\n")
}

#[cfg(test)]
mod tests {
    use super::stencil;

    #[test]
    fn a_corner_has_four_neighbors() {
        let lines = stencil(0, 4);
        for other in [1, 3, 4, 12] {
            assert!(lines.contains(&format!("0 isend {other} 0 8192\n")), "{lines}");
        }
        assert_eq!(lines.lines().count(), 18);
    }
}
