//! How much longer whole programs take: pairs of runs, bare and watched.

use crate::error::BenchError;
use crate::place::{Place, in_path};
use crate::sample::{self, Sample};
use crate::statistics::median;
use crate::tool::{Role, Tool};
use crate::{Report, table, tool};
use serde_json::json;
use std::ffi::OsString;
use std::process::Command;

/// Most that watching may lengthen a program.
const RATIO_MAX: f64 = 1.01;

/// A real program with its input.
#[derive(Debug)]
struct Workload {
    name: &'static str,
    n_ranks: usize,
    /// Program and arguments.
    words: Vec<OsString>,
}

/// Runs every program that is there, `n_turns` times bare and watched, first the one and then the
/// other.
pub(crate) fn measure(place: &Place, n_turns: usize) -> Result<Report, BenchError> {
    let text = "Overhead: whole programs, median of the ratios of paired runs (watched / bare)\n";
    let mut report = Report { text: text.to_owned(), json: json!([]), bars_met: true };
    let Some(watched) = Tool::sintonia(place, Role::Statistics) else {
        report.text += "not measured: the launcher is not built\n";
        return Ok(report);
    };
    let (mut rows, mut all) = (Vec::new(), Vec::new());
    for workload in workloads(place)? {
        let (pairs, calculated) = pairs(place, &workload, &watched, n_turns)?;
        let ratio = |of: fn(&Sample) -> f64| {
            median(pairs.iter().map(|[bare, watched]| of(watched) / of(bare)))
        };
        let (elapsed, cpu) = (ratio(|run| run.elapsed_s), ratio(|run| run.cpu_s));
        let bare_s = median(pairs.iter().map(|[bare, _]| bare.elapsed_s));
        report.bars_met &= elapsed <= RATIO_MAX;
        rows.push(vec![
            workload.name.to_owned(),
            workload.n_ranks.to_string(),
            format!("{bare_s:.2}"),
            format!("{elapsed:.4}"),
            format!("{cpu:.4}"),
            calculated.map_or_else(|| "-".to_owned(), |share| format!("{:.5}", 1.0 + share)),
            if elapsed <= RATIO_MAX { "met" } else { "missed" }.to_owned(),
        ]);
        let seconds = |[bare, watched]: &[Sample; 2]| {
            json!({
                "bare": { "elapsed_s": bare.elapsed_s, "cpu_s": bare.cpu_s },
                "watched": { "elapsed_s": watched.elapsed_s, "cpu_s": watched.cpu_s },
            })
        };
        all.push(json!({
            "program": workload.name, "n_ranks": workload.n_ranks,
            "elapsed_ratio": elapsed, "cpu_ratio": cpu, "share_of_calls": calculated,
            "pairs": pairs.iter().map(seconds).collect::<Vec<_>>(),
        }));
    }
    let header =
        ["program", "ranks", "bare s", "elapsed ratio", "cpu ratio", "by calls", "bar 1.01"];
    report.text += &table::render(&header.map(str::to_owned), &rows);
    report.json = json!(all);
    Ok(report)
}

fn pairs(
    place: &Place,
    workload: &Workload,
    watched: &Tool,
    n_turns: usize,
) -> Result<(Vec<[Sample; 2]>, Option<f64>), BenchError> {
    let n_ranks = workload.n_ranks.to_string();
    let launcher = ["mpirun.openmpi", "-np", &n_ranks].map(OsString::from);
    let run = |tool: &Tool| {
        let mut command = tool.command(place, &launcher, &workload.words);
        // Ranks that wait give their core away: ours is not the only program on the machine.
        command.env("OMPI_MCA_mpi_yield_when_idle", "1").env("OMP_NUM_THREADS", "1");
        sample::take(command)
    };
    // Files in the page cache, and what a program makes at its first run.
    run(&Tool::bare())?;
    let pair = |turn: usize| {
        // What runs second finds a machine that the first has warmed: each is first in turn.
        if turn.is_multiple_of(2) {
            let bare = run(&Tool::bare())?;
            Ok([bare, run(watched)?])
        } else {
            let after = run(watched)?;
            Ok([run(&Tool::bare())?, after])
        }
    };
    let pairs = (0..n_turns).map(pair).collect::<Result<_, _>>()?;
    // A last one for its record, which the bare run of a pair may have removed.
    run(watched)?;
    let calculated = share_of_time(place);
    tool::clean_up(place);
    Ok((pairs, calculated))
}

/// What the record of the last watched run says: calls times price of a call, over the ranks' time.
fn share_of_time(place: &Place) -> Option<f64> {
    let text = std::fs::read_to_string(place.scratch().join("record/summary.json")).ok()?;
    let summary: serde_json::Value = serde_json::from_str(&text).ok()?;
    summary["tool"]["share_of_time"].as_f64()
}

fn workloads(place: &Place) -> Result<Vec<Workload>, BenchError> {
    let mut workloads = Vec::new();
    let xfire = place.root.join("target/xfire-openmpi/xfire");
    if xfire.exists() {
        let input = place.root.join("apps/xfire/data/demo.conf");
        let words = vec![xfire.into(), "--out".into(), "fire".into(), input.into_os_string()];
        workloads.push(Workload { name: "xfire", n_ranks: 2, words });
    }
    if let Some(lmp) = in_path("lmp") {
        let mut words: Vec<OsString> = vec![lmp.into(), "-in".into()];
        words.push(place.input("in.melt").into_os_string());
        words.extend(["-log", "none", "-var", "steps", "2000"].map(OsString::from));
        workloads.push(Workload { name: "lammps", n_ranks: 2, words });
    }
    if let (Some(pw), Some(ld1)) = (in_path("pw.x"), in_path("ld1.x")) {
        make_pseudopotential(place, ld1.into_os_string())?;
        let input = place.input("si.pw.in").into_os_string();
        let words = vec![pw.into_os_string(), "-in".into(), input];
        workloads.push(Workload { name: "quantum-espresso", n_ranks: 2, words });
    }
    Ok(workloads)
}

/// Debian ships no pseudopotential: the package's own program makes one of silicon.
fn make_pseudopotential(place: &Place, ld1: OsString) -> Result<(), BenchError> {
    if place.scratch().join("Si.UPF").exists() {
        return Ok(());
    }
    let mut command = Command::new(ld1);
    command.arg("-in").arg(place.input("si.ld1.in")).current_dir(place.scratch());
    sample::output_of(command).map(drop)
}
