//! Measures how many empty chunks a master deals to two workers per second, beside raw MPI calls and `mpi4py.futures`.

use crate::Report;
use crate::build_paths::BuildPaths;
use crate::error::BenchError;
use crate::library::{BenchLibrary, mpich_of_mpi4py};
use crate::median;
use crate::sample;
use crate::table::{self, verdict};
use serde_json::json;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// Number of chunks in a run.
const N_CHUNKS: &str = "100000";
/// Number of tasks in a run of `mpi4py.futures`, which is much slower.
const N_TASKS_PYTHON: &str = "5000";
/// Fewest chunks per second that the library must deal with one and with two in flight per worker.
const BARS: [f64; 2] = [150e3, 400e3];
/// Name of the program that the bars are for, and of the one that it is compared with.
const OURS: &str = "master-worker";
const PEER: &str = "C";

/// Program, with its words for one and for two chunks in flight.
#[derive(Debug)]
struct Dealer {
    name: &'static str,
    ways: Vec<Vec<OsString>>,
    /// Environment variables that it needs.
    variables: Vec<(&'static str, OsString)>,
}

/// Chunks per second of a program in one way, a figure for each turn.
#[derive(Debug)]
struct Figure {
    name: &'static str,
    n_in_flight: usize,
    per_s: Vec<f64>,
}

/// Runs all programs under all libraries.
pub(crate) fn measure(
    paths: &BuildPaths,
    libraries: &[BenchLibrary],
    n_turns: usize,
) -> Result<Report, BenchError> {
    let (mut rows, mut json, mut bars_met) = (Vec::new(), Vec::new(), true);
    for library in libraries {
        let figures = turns(library, &dealers(paths, library)?, n_turns)?;
        for figure in &figures {
            let per_s = median(figure.per_s.iter().copied());
            let bar = (figure.name == OURS).then(|| BARS[figure.n_in_flight - 1]);
            bars_met &= bar.is_none_or(|bar| bar <= per_s);
            rows.push(row(library, figure, &figures, bar));
            json.push(json!({ "library": library.name, "program": figure.name,
                "n_in_flight": figure.n_in_flight, "chunks_per_s": figure.per_s }));
        }
    }
    let header = ["library", "program", "in flight", "chunks/s", "ratio to C", "bar"];
    let text = "Dealing: chunks of nothing per second, a master and 2 workers\n".to_owned();
    Ok(Report { text: text + &table::render(&header, &rows), json: json.into(), bars_met })
}

fn row(library: &BenchLibrary, figure: &Figure, all: &[Figure], bar: Option<f64>) -> Vec<String> {
    let per_s = median(figure.per_s.iter().copied());
    let is_peer = |peer: &&Figure| peer.name == PEER && peer.n_in_flight == figure.n_in_flight;
    let peer = all.iter().find(is_peer).map(|peer| median(peer.per_s.iter().copied()));
    let verdict = |bar: f64| format!("{bar:.0} {}", verdict(Some(bar <= per_s)));
    vec![
        library.name.to_owned(),
        figure.name.to_owned(),
        figure.n_in_flight.to_string(),
        format!("{per_s:.0}"),
        peer.map_or(String::new(), |peer| format!("{:.2}", per_s / peer)),
        bar.map_or(String::new(), verdict),
    ]
}

/// Runs every program in every way, one after another, `n_turns` times.
fn turns(
    library: &BenchLibrary,
    dealers: &[Dealer],
    n_turns: usize,
) -> Result<Vec<Figure>, BenchError> {
    let ways =
        dealers.iter().flat_map(|dealer| (1..).zip(&dealer.ways).map(move |way| (dealer, way)));
    let ways: Vec<_> = ways.collect();
    let figure = |(dealer, (n_in_flight, _)): &(&Dealer, (usize, _))| Figure {
        name: dealer.name,
        n_in_flight: *n_in_flight,
        per_s: Vec::new(),
    };
    let mut figures: Vec<Figure> = ways.iter().map(figure).collect();
    for _ in 0..n_turns {
        for ((dealer, (_, words)), figure) in ways.iter().zip(&mut figures) {
            figure.per_s.push(run(library, dealer, words)?);
        }
    }
    Ok(figures)
}

/// Chunks per second of one run, from the line that has the figure.
fn run(library: &BenchLibrary, dealer: &Dealer, words: &[OsString]) -> Result<f64, BenchError> {
    let launcher = library.launch_shared(3);
    let mut command = Command::new(&launcher[0]);
    command.args(&launcher[1..]).args(words);
    command.envs(dealer.variables.iter().map(|(name, value)| (*name, value)));
    sample::figure(command, figure_in)
}

/// Parses `dealing IN_FLIGHT FIGURE`, or `FIGURE chunks per second`.
fn figure_in(output: &str) -> Option<f64> {
    output.lines().find_map(|line| {
        let word = match line.strip_prefix("dealing ") {
            Some(rest) => rest.split(' ').nth(1)?,
            None => line.split_once(" chunks per second")?.0,
        };
        word.parse().ok()
    })
}

fn dealers(paths: &BuildPaths, library: &BenchLibrary) -> Result<Vec<Dealer>, BenchError> {
    let raw = library.compile(paths, "dealing.c", "dealing")?;
    let mut dealers = vec![
        dealer(PEER, &raw, [&[N_CHUNKS, "1"], &[N_CHUNKS, "2"]]),
        dealer(
            "comm",
            &paths.built("examples/comm_dealing")?,
            [&[N_CHUNKS, "1"], &[N_CHUNKS, "2"]],
        ),
        dealer(OURS, &paths.built("examples/dealing")?, [&[N_CHUNKS, "one"], &[N_CHUNKS, "two"]]),
    ];
    dealers.extend(futures(paths, library));
    Ok(dealers)
}

fn dealer(name: &'static str, program: &Path, ways: [&[&str]; 2]) -> Dealer {
    let words = |arguments: &[&str]| {
        let arguments = arguments.iter().map(OsString::from);
        std::iter::once(program.into()).chain(arguments).collect()
    };
    Dealer { name, ways: ways.into_iter().map(words).collect(), variables: Vec::new() }
}

/// Program of `mpi4py.futures`, if `scripts/setup.sh bench` has installed it; it keeps one task in flight.
fn futures(paths: &BuildPaths, library: &BenchLibrary) -> Option<Dealer> {
    let environment = paths.root.join("target/venv-mpi4py");
    let python = environment.join("bin/python");
    let script = paths.source("futures.py").into_os_string();
    let module: [OsString; 3] = ["-m".into(), "mpi4py.futures".into(), script];
    let words = [python.clone().into_os_string()].into_iter().chain(module);
    let words = words.chain([N_TASKS_PYTHON.into()]).collect();
    let is_mpich = library.key == "mpich";
    let variables = if is_mpich { mpich_of_mpi4py(&environment) } else { Vec::new() };
    python.exists().then(|| Dealer { name: "mpi4py.futures", ways: vec![words], variables })
}

#[cfg(test)]
mod tests {
    use super::figure_in;

    #[track_caller]
    fn check(output: &str, expected: Option<f64>) {
        assert_eq!(figure_in(output), expected);
    }

    #[test]
    fn every_program_says_its_figure() {
        check("a warning\ndealing 2 187000\n", Some(187_000.0));
        check("a warning\n187000 chunks per second, 600000 tasks\n", Some(187_000.0));
        check("dealing with it\n", None);
        check("", None);
    }
}
