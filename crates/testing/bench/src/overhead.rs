//! Measures how much longer whole programs take when they are watched, by pairs of runs.

use crate::build_paths::{BuildPaths, in_path};
use crate::error::BenchError;
use crate::median;
use crate::sample::{self, RunSample};
use crate::table::{self, verdict};
use crate::tool::{Tool, ToolRole};
use crate::{Report, tool};
use serde_json::json;
use std::ffi::OsString;
use std::process::Command;

/// Largest ratio by which watching may lengthen a program.
const RATIO_MAX: f64 = 1.01;

/// Real program with its input, and the tool that watches it.
#[derive(Debug)]
struct Workload {
    name: &'static str,
    n_ranks: usize,
    /// Program with its arguments.
    words: Vec<OsString>,
    watched: Tool,
    has_bar: bool,
}

/// Results of the pairs of runs of a workload.
#[derive(Debug)]
struct Outcome {
    pairs: Vec<[RunSample; 2]>,
    /// Share of time that the record gives for watching.
    share: Option<f64>,
}

/// Runs every program that is installed, `n_turns` times bare and watched, in alternating order.
pub(crate) fn measure(paths: &BuildPaths, n_turns: usize) -> Result<Report, BenchError> {
    let mut text =
        "Overhead: whole programs, median of the ratios of paired runs (watched / bare)\n"
            .to_owned();
    let (mut rows, mut json, mut bars_met) = (Vec::new(), Vec::new(), true);
    for workload in workloads(paths)? {
        let outcome = pairs(paths, &workload, n_turns)?;
        bars_met &= outcome.is_met(&workload) != Some(false);
        rows.push(workload.row(&outcome));
        json.push(workload.json(&outcome));
    }
    let header = [
        "program",
        "watched by",
        "ranks",
        "bare s",
        "elapsed ratio",
        "cpu ratio",
        "by calls",
        "bar 1.01",
    ];
    text += &match rows.is_empty() {
        true => "not measured: the launcher is not built\n".to_owned(),
        false => table::render(&header, &rows),
    };
    Ok(Report { text, json: json.into(), bars_met })
}

impl Outcome {
    fn ratio(&self, of: fn(&RunSample) -> f64) -> f64 {
        median(self.pairs.iter().map(|[bare, watched]| of(watched) / of(bare)))
    }

    /// Returns whether the ratio meets the bar, where there is one.
    fn is_met(&self, workload: &Workload) -> Option<bool> {
        workload.has_bar.then_some(self.ratio(elapsed_s) <= RATIO_MAX)
    }
}

impl Workload {
    fn row(&self, outcome: &Outcome) -> Vec<String> {
        vec![
            self.name.to_owned(),
            self.watched.name.to_owned(),
            self.n_ranks.to_string(),
            format!("{:.2}", median(outcome.pairs.iter().map(|[bare, _]| bare.elapsed_s))),
            format!("{:.4}", outcome.ratio(elapsed_s)),
            format!("{:.4}", outcome.ratio(cpu_s)),
            outcome.share.map_or_else(|| "-".to_owned(), |share| format!("{:.5}", 1.0 + share)),
            verdict(outcome.is_met(self)).to_owned(),
        ]
    }

    fn json(&self, outcome: &Outcome) -> serde_json::Value {
        let seconds = |[bare, watched]: &[RunSample; 2]| {
            json!({
                "bare": { "elapsed_s": bare.elapsed_s, "cpu_s": bare.cpu_s },
                "watched": { "elapsed_s": watched.elapsed_s, "cpu_s": watched.cpu_s },
            })
        };
        json!({
            "program": self.name, "watched_by": self.watched.name, "n_ranks": self.n_ranks,
            "elapsed_ratio": outcome.ratio(elapsed_s), "cpu_ratio": outcome.ratio(cpu_s),
            "share_of_calls": outcome.share,
            "pairs": outcome.pairs.iter().map(seconds).collect::<Vec<_>>(),
        })
    }
}

fn elapsed_s(sample: &RunSample) -> f64 {
    sample.elapsed_s
}

fn cpu_s(sample: &RunSample) -> f64 {
    sample.cpu_s
}

fn pairs(paths: &BuildPaths, workload: &Workload, n_turns: usize) -> Result<Outcome, BenchError> {
    let watched = &workload.watched;
    let n_ranks = workload.n_ranks.to_string();
    let launcher = ["mpirun.openmpi", "-np", &n_ranks].map(OsString::from);
    let run = |tool: &Tool| {
        let mut command = tool.command(paths, &launcher, &workload.words);
        // Ranks that wait yield their core: other programs run on the machine, too.
        command.env("OMPI_MCA_mpi_yield_when_idle", "1").env("OMP_NUM_THREADS", "1");
        sample::take(command)
    };
    // Fills the page cache, and makes the files that a program makes at its first run.
    run(&Tool::bare())?;
    let pair = |turn: usize| {
        // The second run finds a machine that the first one has warmed, so each is first in turn.
        if turn.is_multiple_of(2) {
            let bare = run(&Tool::bare())?;
            Ok([bare, run(watched)?])
        } else {
            let after = run(watched)?;
            Ok([run(&Tool::bare())?, after])
        }
    };
    let pairs = (0..n_turns).map(pair).collect::<Result<_, _>>()?;
    // One more run for its record, since the bare run of a pair may have removed the last one.
    run(watched)?;
    let share = share_of_time(paths);
    tool::clean_up(paths);
    Ok(Outcome { pairs, share })
}

/// Share in the record of the last watched run: calls times cost of a call, over the ranks' time.
fn share_of_time(paths: &BuildPaths) -> Option<f64> {
    let text = std::fs::read_to_string(paths.scratch().join("record/summary.json")).ok()?;
    let summary: serde_json::Value = serde_json::from_str(&text).ok()?;
    summary["tool"]["share_of_time"].as_f64()
}

fn workloads(paths: &BuildPaths) -> Result<Vec<Workload>, BenchError> {
    let Some(plain) = Tool::sintonia(paths, ToolRole::Statistics) else { return Ok(Vec::new()) };
    let mut workloads = xfire(paths, &plain);
    let mut add = |name, words: Vec<OsString>| {
        let watched = plain.clone();
        workloads.push(Workload { name, n_ranks: 2, words, watched, has_bar: true });
    };
    if let Some(lmp) = in_path("lmp") {
        let mut words: Vec<OsString> =
            vec![lmp.into(), "-in".into(), paths.input("in.melt").into()];
        words.extend(["-log", "none", "-var", "steps", "2000"].map(OsString::from));
        add("lammps", words);
    }
    if let (Some(pw), Some(ld1)) = (in_path("pw.x"), in_path("ld1.x")) {
        make_pseudopotential(paths, ld1.into_os_string())?;
        let input = paths.input("si.pw.in").into_os_string();
        add("quantum-espresso", vec![pw.into_os_string(), "-in".into(), input]);
    }
    Ok(workloads)
}

/// Workloads of the only program here whose functions have names: Debian's packages are stripped.
fn xfire(paths: &BuildPaths, plain: &Tool) -> Vec<Workload> {
    let xfire = paths.root.join("target/xfire-openmpi/xfire");
    if !xfire.exists() {
        return Vec::new();
    }
    let input = paths.root.join("apps/xfire/data/demo.conf");
    let words = |options: &[&str]| {
        let mut words: Vec<OsString> = vec![xfire.clone().into(), "--out".into(), "fire".into()];
        words.extend(options.iter().map(OsString::from));
        words.push(input.clone().into_os_string());
        words
    };
    let description = paths.root.join("apps/xfire/xfire.toml");
    let observe = ["--app", &description.to_string_lossy(), "--observe"];
    let with = |name, options: &[&str]| Tool::sintonia_with(paths, name, options);
    let all: [(Option<Tool>, &[&str], bool); 3] = [
        (Some(plain.clone()), &[], true),
        (with("sintonia --app --observe", &observe), &[], true),
        // Most passages are of functions of a few instructions, the most expensive case.
        (with("sintonia --probe '*'", &["--probe", "*"]), &["--end_min", "100"], false),
    ];
    let workload = |(watched, options, has_bar): (Option<Tool>, &[&str], bool)| {
        let words = words(options);
        Some(Workload { name: "xfire", n_ranks: 2, words, watched: watched?, has_bar })
    };
    all.into_iter().filter_map(workload).collect()
}

/// Makes a pseudopotential of silicon by the package's own program, since Debian ships none.
fn make_pseudopotential(paths: &BuildPaths, ld1: OsString) -> Result<(), BenchError> {
    if paths.scratch().join("Si.UPF").exists() {
        return Ok(());
    }
    let mut command = Command::new(ld1);
    command.arg("-in").arg(paths.input("si.ld1.in")).current_dir(paths.scratch());
    sample::output_of(command).map(drop)
}
