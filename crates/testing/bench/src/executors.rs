//! Measures how many Python calls per second an executor on 3 ranks does, beside `mpi4py.futures`.

use crate::Report;
use crate::build_paths::BuildPaths;
use crate::error::BenchError;
use crate::library::{BenchLibrary, mpich_of_mpi4py};
use crate::median;
use crate::sample;
use crate::table::{self, verdict};
use serde_json::json;
use std::process::Command;

/// Modules with an executor: ours, and the peer.
const MODULES: [&str; 2] = ["sintonia.mpi", "mpi4py.futures"];
/// Fewest calls of nothing per second that a map under Open MPI must do, in multiples of the peer's.
const BAR: f64 = 20.0;

/// What is called how, and how often with each of the modules.
#[derive(Debug)]
struct Case {
    /// Name in `programs/executors.py`.
    name: &'static str,
    what: &'static str,
    n_calls: [u32; 2],
}

const CASES: [Case; 5] = [
    Case { name: "mapped", what: "map of nothing, chunksize 1", n_calls: [500_000, 5000] },
    Case { name: "submitted", what: "submit of nothing, all at once", n_calls: [20_000, 5000] },
    Case { name: "one_by_one", what: "submit of nothing, one by one", n_calls: [500, 500] },
    Case { name: "milliseconds", what: "map of 1 ms, chunksize 1", n_calls: [2000, 2000] },
    Case { name: "arrays", what: "map of 8 MB forth and back", n_calls: [30, 30] },
];

/// Runs all cases with both modules under all libraries.
pub(crate) fn measure(
    paths: &BuildPaths,
    libraries: &[BenchLibrary],
    n_turns: usize,
) -> Result<Report, BenchError> {
    let (mut rows, mut json, mut bars_met) = (Vec::new(), Vec::new(), true);
    let is_there = paths.root.join("target/venv-mpi4py/bin/python").exists();
    for library in libraries.iter().filter(|_| is_there) {
        for case in &CASES {
            let per_s = turns(paths, library, case, n_turns)?;
            let [ours, peer] = [0, 1].map(|place| median(per_s.iter().map(|turn| turn[place])));
            let ratio = median(per_s.iter().map(|[ours, peer]| ours / peer));
            let has_bar = case.name == "mapped" && library.key == "openmpi";
            bars_met &= !has_bar || BAR <= ratio;
            let verdict = has_bar.then(|| format!("{BAR:.0} {}", verdict(Some(BAR <= ratio))));
            rows.push(vec![
                library.name.to_owned(),
                case.what.to_owned(),
                format!("{ours:.0}"),
                format!("{peer:.0}"),
                format!("{ratio:.2}"),
                verdict.unwrap_or_default(),
            ]);
            json.push(json!({ "library": library.name, "case": case.name, "per_s": per_s }));
        }
    }
    let header = ["library", "calls", MODULES[0], MODULES[1], "ratio", "bar"];
    let mut text = "Executors: Python calls per second, a master and 2 workers\n".to_owned();
    text += &table::render(&header, &rows);
    if !is_there {
        text += "not measured: `scripts/setup.sh bench` installs mpi4py\n";
    }
    Ok(Report { text, json: json.into(), bars_met })
}

/// Calls per second of both modules in each turn.
fn turns(
    paths: &BuildPaths,
    library: &BenchLibrary,
    case: &Case,
    n_turns: usize,
) -> Result<Vec<[f64; 2]>, BenchError> {
    let run = |place: usize| {
        let mut command = command(paths, library, MODULES[place]);
        command.args([MODULES[place], case.name, &case.n_calls[place].to_string()]);
        sample::figure(command, figure_in)
    };
    (0..n_turns).map(|_| Ok([run(0)?, run(1)?])).collect()
}

/// Command of 3 ranks of the script under a module.
fn command(paths: &BuildPaths, library: &BenchLibrary, module: &str) -> Command {
    let environment = paths.root.join("target/venv-mpi4py");
    let launcher = library.launch_shared(3);
    let mut command = Command::new(&launcher[0]);
    command.args(&launcher[1..]).arg(environment.join("bin/python")).args(["-B", "-m", module]);
    command.arg(paths.source("executors.py"));
    command.env("PYTHONPATH", paths.root.join("python"));
    if library.key == "mpich" {
        command.envs(mpich_of_mpi4py(&environment));
    }
    command
}

/// Parses `executor CASE FIGURE`, of one rank only: others are jobs of their own, where the launcher is not that of the
/// library.
fn figure_in(output: &str) -> Option<f64> {
    let mut figures = output.lines().filter_map(|line| line.strip_prefix("executor "));
    let figure = figures.next()?.split(' ').nth(1)?.parse().ok();
    figure.filter(|_| figures.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::figure_in;

    #[track_caller]
    fn check(output: &str, expected: Option<f64>) {
        assert_eq!(figure_in(output), expected);
    }

    #[test]
    fn one_rank_says_the_figure() {
        check("a warning\nexecutor mapped 187000.5\n", Some(187_000.5));
        check("executor mapped 1.0\nexecutor mapped 2.0\n", None);
        check("executor\n", None);
        check("", None);
    }
}
