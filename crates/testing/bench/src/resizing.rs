//! Measures how long a program waits when its number of ranks changes, beside the least that MPI itself needs: one
//! spawn, and one `MPI_Alltoallv` of the bytes that moved.
//!
//! The bars are for a conjugate gradient that grows from 4 to 8 ranks and shrinks back. It may wait 1.25 times the
//! first such `MPI_Alltoallv`, and 50 ms more: with Open MPI, which starts processes beside the program, and when it
//! shrinks. When it grows with MPICH, whose calls block meanwhile, the time of a spawn takes the place of the 50 ms.
//!
//! # Not here
//! Times of the parts of a resize: the record of the program (`resizes.jsonl`).

use crate::Report;
use crate::build_paths::{BuildPaths, make_folder};
use crate::error::BenchError;
use crate::library::{self, BenchLibrary};
use crate::median;
use crate::sample;
use crate::table::{self, verdict};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// Numbers of ranks before and after.
const CHANGES: [(u32, u32); 2] = [(4, 8), (8, 4)];
/// Arguments of the program, with the iterations before which the number changes: there are enough iterations that both
/// changes are over on a busy machine, too.
const PROGRAM: &str =
    "--generate laplace3d:100 --tolerance 0 --iterations 600 --sizes 1:8 --schedule 20:8,300:4";
/// Bytes in all that the peer distributes if the program is missing.
const BYTES: u64 = 100_000_000;
/// Number of repetitions of the peer's `MPI_Alltoallv`.
const N_TIMES: &str = "9";
/// Text in place of the table if no library can start processes.
const NOTHING: &str = "not measured: there is neither Open MPI 5 nor MPICH 5 in `target/venv-openmpi5` and \
    `target/venv-mpich5`; `scripts/setup.sh bench` installs them\n";
/// Time that a resize without a blocking spawn may take beyond the exchange.
const GRACE_S: f64 = 0.05;

/// Times that MPI needs.
#[derive(Clone, Copy, Debug, PartialEq)]
struct MpiBaseline {
    spawn_s: f64,
    /// Time of the first exchange, in which connections are made.
    first_s: f64,
    exchange_s: f64,
    n_bytes: u64,
}

/// Wait of a program for a resize, and bytes that moved.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Resized {
    wait_s: f64,
    n_bytes: u64,
}

/// All turns of one change under one library.
#[derive(Debug)]
struct Turns {
    baseline: Vec<MpiBaseline>,
    ours: Vec<Resized>,
}

/// Runs the program and the peer under all libraries that can start processes.
pub(crate) fn measure(paths: &BuildPaths, n_turns: usize) -> Result<Report, BenchError> {
    let mut text =
        "Resizing: milliseconds that a program stands still, beside bare MPI\n".to_owned();
    let (mut rows, mut json, mut bars_met) = (Vec::new(), Vec::new(), true);
    let libraries = library::dynamic(paths);
    let is_nothing = libraries.is_empty();
    for library in libraries {
        for (change, turns) in CHANGES.into_iter().zip(take_turns(paths, &library, n_turns)?) {
            let bar_s = turns.bar_s(&library, change);
            bars_met &= turns.is_met(bar_s) != Some(false);
            rows.push(turns.row(&library, change, bar_s));
            json.push(turns.json(&library, change, bar_s));
        }
    }
    let header =
        ["library", "ranks", "MB moved", "spawn", "first exchange", "exchange", "ours", "bar"];
    text += &if is_nothing { NOTHING.to_owned() } else { table::render(&header, &rows) };
    Ok(Report { text, json: json.into(), bars_met })
}

/// Takes the turns of each change.
fn take_turns(
    paths: &BuildPaths,
    library: &BenchLibrary,
    n_turns: usize,
) -> Result<[Turns; 2], BenchError> {
    let raw = library.compile(paths, "resizing.c", "resizing")?;
    let program = paths.probe.with_file_name("cg");
    let mut turns = CHANGES.map(|_| Turns { baseline: Vec::new(), ours: Vec::new() });
    for _ in 0..n_turns {
        let ours = if program.exists() { resized(paths, library, &program)? } else { Vec::new() };
        for (paths, (change, turns)) in CHANGES.into_iter().zip(&mut turns).enumerate() {
            turns.ours.extend(ours.get(paths));
            // Half of the data moves when the number of ranks is doubled or halved.
            let n_bytes = turns.ours.last().map_or(BYTES, |ours| 2 * ours.n_bytes);
            turns.baseline.push(baseline(library, &raw, change, n_bytes)?);
        }
    }
    Ok(turns)
}

fn baseline(
    library: &BenchLibrary,
    raw: &Path,
    (from, to): (u32, u32),
    n_bytes: u64,
) -> Result<MpiBaseline, BenchError> {
    let words = [from.to_string(), to.to_string(), n_bytes.to_string(), N_TIMES.to_owned()];
    let mut command = on_ranks(library, from);
    command.arg(raw).args(words);
    sample::figure(command, figures_in)
}

/// Parses `resizing SPAWN FIRST EXCHANGE BYTES`.
fn figures_in(output: &str) -> Option<MpiBaseline> {
    let words = output.lines().find_map(|line| line.strip_prefix("resizing "))?;
    let mut words = words.split(' ');
    let mut second = || words.next()?.parse().ok();
    let (spawn_s, first_s, exchange_s) = (second()?, second()?, second()?);
    Some(MpiBaseline { spawn_s, first_s, exchange_s, n_bytes: words.next()?.parse().ok()? })
}

/// Runs the program once, with all changes.
fn resized(
    paths: &BuildPaths,
    library: &BenchLibrary,
    program: &Path,
) -> Result<Vec<Resized>, BenchError> {
    let record = paths.scratch().join("resizing");
    if record.exists() {
        std::fs::remove_dir_all(&record).map_err(BenchError::file(&record))?;
    }
    make_folder(&record)?;
    let mut command = on_ranks(library, CHANGES[0].0);
    command.arg(program).args(PROGRAM.split(' ')).arg("--record").arg(&record);
    let name = sample::name_of(&command);
    let output = sample::last_lines(&sample::output_of(command)?);
    let path = record.join("resizes.jsonl");
    let text = std::fs::read_to_string(&path).map_err(BenchError::file(&path))?;
    let resizes: Option<Vec<_>> = text.lines().map(resize_in).collect();
    let resizes = resizes.filter(|resizes| resizes.len() == CHANGES.len());
    resizes.ok_or(BenchError::NoFigure { command: name, output })
}

/// Parses a line of a record; `None` if that resize was not done.
fn resize_in(line: &str) -> Option<Resized> {
    let resize: Value = serde_json::from_str(line).ok()?;
    let wait_s = resize["seconds"]["wait"].as_f64()?;
    let is_done = resize["outcome"].as_str()?.eq_ignore_ascii_case("done");
    is_done.then_some(Resized { wait_s, n_bytes: resize["bytes"]["moved"].as_u64()? })
}

fn on_ranks(library: &BenchLibrary, n_ranks: u32) -> Command {
    let launcher = library.launch_shared(n_ranks as usize);
    let mut command = Command::new(&launcher[0]);
    command.args(&launcher[1..]).envs(library.settings.iter().copied());
    command
}

impl Turns {
    fn wait_s(&self) -> f64 {
        median(self.ours.iter().map(|ours| ours.wait_s))
    }

    fn of_baseline(&self, figure: impl Fn(&MpiBaseline) -> f64) -> f64 {
        median(self.baseline.iter().map(figure))
    }

    fn bar_s(&self, library: &BenchLibrary, (from, to): (u32, u32)) -> f64 {
        let is_hidden = library.key == "openmpi5" || to < from;
        let start_s =
            if is_hidden { GRACE_S } else { self.of_baseline(|baseline| baseline.spawn_s) };
        start_s + 1.25 * self.of_baseline(|baseline| baseline.first_s)
    }

    /// Returns whether the wait meets the bar, if the program was measured.
    fn is_met(&self, bar_s: f64) -> Option<bool> {
        (!self.ours.is_empty()).then_some(self.wait_s() <= bar_s)
    }

    fn row(&self, library: &BenchLibrary, (from, to): (u32, u32), bar_s: f64) -> Vec<String> {
        let ms = |seconds: f64| format!("{:.1}", seconds * 1e3);
        let (ours, verdict) = match self.is_met(bar_s) {
            None => (String::new(), "not built"),
            is_met => (ms(self.wait_s()), verdict(is_met)),
        };
        vec![
            library.name.to_owned(),
            format!("{from} to {to}"),
            format!("{:.1}", self.of_baseline(|baseline| baseline.n_bytes as f64) / 1e6),
            ms(self.of_baseline(|baseline| baseline.spawn_s)),
            ms(self.of_baseline(|baseline| baseline.first_s)),
            ms(self.of_baseline(|baseline| baseline.exchange_s)),
            ours,
            format!("{} {verdict}", ms(bar_s)),
        ]
    }

    fn json(&self, library: &BenchLibrary, (from, to): (u32, u32), bar_s: f64) -> Value {
        let baseline = self.baseline.iter().map(|baseline| {
            json!({ "spawn_s": baseline.spawn_s, "first_exchange_s": baseline.first_s,
                "exchange_s": baseline.exchange_s, "n_bytes": baseline.n_bytes })
        });
        let ours =
            self.ours.iter().map(|ours| json!({ "wait_s": ours.wait_s, "n_bytes": ours.n_bytes }));
        json!({ "library": library.name, "from": from, "to": to, "bar_s": bar_s,
            "bare": baseline.collect::<Vec<_>>(), "ours": ours.collect::<Vec<_>>() })
    }
}

#[cfg(test)]
mod tests {
    use super::{MpiBaseline, Resized, figures_in, resize_in};

    #[test]
    fn bare_mpi_says_its_figures() {
        let expected =
            MpiBaseline { spawn_s: 0.5, first_s: 0.25, exchange_s: 0.125, n_bytes: 50_000 };
        let output = "a warning\nresizing 0.500000 0.250000 0.125000 50000\n";
        assert_eq!(figures_in(output), Some(expected));
        assert_eq!(figures_in("resizing 0.5 0.25\n"), None);
    }

    #[track_caller]
    fn check(outcome: &str, expected: Option<Resized>) {
        let seconds = r#""seconds":{"wait":0.125,"spawn":3.0}"#;
        let line = format!(r#"{{"outcome":"{outcome}",{seconds},"bytes":{{"moved":7}}}}"#);
        assert_eq!(resize_in(&line), expected);
    }

    #[test]
    fn a_record_says_how_long_the_program_stood_still() {
        check("done", Some(Resized { wait_s: 0.125, n_bytes: 7 }));
        check("timed_out", None);
        assert_eq!(resize_in(""), None);
    }
}
